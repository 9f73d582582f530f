import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const ROOT = resolve(import.meta.dirname, '../..');
/** What a server is installed from; its packages come by npm. */
const PARTS = ['package.json', 'package-lock.json', '.npmrc', 'bin', 'src', 'migrations', 'deploy'];
const exec = promisify(execFile);

interface Locked {
  dev?: true;
  os?: string[];
}

/** A checkout of these sources as `npm install --omit=dev` leaves it, in a folder of its own. */
export async function installServer(): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-server-'));
  for (const part of PARTS) await cp(join(ROOT, part), join(folder, part), { recursive: true });
  try {
    // From what npm has kept of the project's own installation.
    await exec('npm', ['install', '--omit=dev', '--offline'], { cwd: folder });
  } catch {
    await rm(join(folder, 'node_modules'), { recursive: true, force: true });
    await copyPackages(folder);
  }
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** What npm would bring, out of the project's own packages: whatever the lock file does not call a development dependency. */
async function copyPackages(folder: string): Promise<void> {
  const lock: { packages: Record<string, Locked> } = JSON.parse(
    await readFile(join(ROOT, 'package-lock.json'), 'utf8'),
  );
  for (const [path, { dev, os }] of Object.entries(lock.packages)) {
    if (path === '' || dev === true || (os !== undefined && !os.includes(process.platform))) continue;
    const to = join(folder, path);
    await mkdir(dirname(to), { recursive: true });
    await exec('cp', ['-R', join(ROOT, path), to]).catch((error: unknown) => {
      // Of another kind of machine.
      if (os === undefined) throw error;
    });
  }
}
