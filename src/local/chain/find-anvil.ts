import { accessSync, constants, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';

/** npm's word for a platform, and the word in the name of the package that carries its anvil. */
const ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };

/** The path of an anvil that can be started, from the installed package or from PATH. */
export function findAnvil(
  where: { platform: string; architecture: string; path: string } = {
    platform: process.platform,
    architecture: process.arch,
    path: process.env['PATH'] ?? '',
  },
): string {
  const windows = where.platform === 'win32';
  const program = windows ? 'anvil.exe' : 'anvil';
  const name = `@foundry-rs/anvil-${where.platform}-${ARCHITECTURES[where.architecture] ?? where.architecture}`;
  const candidates = [
    // The program itself, not its launcher: signals must reach it.
    ...packageFolder(name).map((folder) => join(folder, 'bin', program)),
    ...where.path
      .split(delimiter)
      .filter((folder) => folder !== '')
      .map((folder) => join(folder, program)),
  ];
  const found = candidates.find(canRun);
  if (found !== undefined) return found;
  throw new Error(
    `The local chain needs anvil. The package ${name} is not installed and there is no anvil on PATH. ` +
      'Install Foundry (https://getfoundry.sh), or run the local world on Linux x64, where npm install brings it along.',
  );
}

function packageFolder(name: string): string[] {
  try {
    return [dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))];
  } catch {
    return [];
  }
}

function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
