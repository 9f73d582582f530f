import { execFile } from 'node:child_process';
import { lstat, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { environmentOf, type FoundNode } from '../support/find-nodes.ts';

const exec = promisify(execFile);
const BLOCK_BYTES = 512;

/** A folder in which that Node's npm installed a package, as a stranger would. */
export interface EmptyProject {
  folder: string;
  /** Number of packages that npm installed, including the package itself. */
  packages: number;
  /** Size on disk, in units of 1,000,000 bytes. */
  megabytes: number;
  write(name: string, text: string): Promise<void>;
  /** Runs a program of that Node or of the project, and returns its output. On an exit code other than 0, throws with the whole output. */
  run(command: string, args: readonly string[], environment?: Readonly<Record<string, string>>): Promise<string>;
  remove(): Promise<void>;
}

export async function installInto(node: FoundNode, tarball: string): Promise<EmptyProject> {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-project-'));
  const base = environmentOf(node);
  const write = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);
  const run: EmptyProject['run'] = async (command, args, environment = {}) => {
    const env = { ...base, ...environment };
    const { stdout, stderr } = await exec(command, args, { cwd: folder, env }).catch(
      (error: Error & { stdout: string; stderr: string }) => {
        throw new Error(`${error.message}\n${error.stdout}\n${error.stderr}`);
      },
    );
    return stdout + stderr;
  };
  await write('package.json', '{"private":true}');
  // Retry a request that hangs for 20 seconds. npm on its own would wait five minutes.
  await run('npm', ['install', '--prefer-offline', '--fetch-timeout=20000', '--no-audit', '--no-fund', tarball]);
  const installed: { packages: object } = JSON.parse(
    await readFile(join(folder, 'node_modules', '.package-lock.json'), 'utf8'),
  );
  return {
    folder,
    packages: Object.keys(installed.packages).length,
    megabytes: (await bytesOnDisk(join(folder, 'node_modules'))) / 1_000_000,
    write,
    run,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Returns the size as `du` counts it: whole blocks, including folders. */
async function bytesOnDisk(folder: string): Promise<number> {
  const paths = [folder, ...(await readdir(folder, { recursive: true })).map((path) => join(folder, path))];
  const blocks = await Promise.all(paths.map(async (path) => (await lstat(path)).blocks));
  return blocks.reduce((sum, count) => sum + count * BLOCK_BYTES, 0);
}

export function codeOf(markdown: string, language: string): string {
  const [code] = codesOf(markdown, language);
  if (code === undefined) throw new Error(`no block of ${language}`);
  return code;
}

export function codesOf(markdown: string, language: string): string[] {
  const blocks = markdown.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'));
  return Array.from(blocks, ([, code = '']) => code);
}
