import { link, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '../data-folder.ts';
import type { Log } from '../log.ts';
import type { Random } from '../random.ts';

/** Where a host keeps its copy of the log, and the name under which the database knows it. */
export interface LogCopyPlace {
  folder: string;
  host: string;
}

interface PlaceConfig {
  /** Null: a folder in the data folder. */
  logCopyDir: string | null;
  dataDir: string;
  /** Null: PostgreSQL in the data folder. */
  databaseUrl: string | null;
}

export function logCopyFolder({ logCopyDir, dataDir }: Pick<PlaceConfig, 'logCopyDir' | 'dataDir'>): string {
  return logCopyDir ?? join(dataDir, 'log-copy');
}

/** Makes the folder, and a name for the host, if they are not there. Warns where a restore would take the copy back together with the database. */
export async function openLogCopyPlace(
  config: PlaceConfig,
  { random, log, variable }: { random: Random; log: Log; variable: string },
): Promise<LogCopyPlace> {
  const folder = logCopyFolder(config);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (config.databaseUrl === null && (await isOnOneVolume(folder, config.dataDir))) {
    const why = `a restore of this volume takes the copy back too; set ${variable} to a folder on another one`;
    log.warn('log_copy_on_database_volume', { path: folder, why });
  }
  return { folder, host: await readHost(join(folder, 'host'), random) };
}

async function isOnOneVolume(one: string, other: string): Promise<boolean> {
  return (await stat(one)).dev === (await stat(other)).dev;
}

const HOST = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\n$/;

/** Processes that start at once agree on the one that was there first. What a crash has left torn is replaced. */
async function readHost(path: string, random: Random): Promise<string> {
  const found = await readFile(path, 'utf8').catch(nullIfMissing);
  if (found !== null && HOST.test(found)) return found.trim();
  // The file gets its name once it is whole: a process that finds the name finds all of it.
  const own = `${path}.${random.uuid()}`;
  await writeFile(own, `${random.uuid()}\n`, { mode: 0o600, flush: true });
  if (found === null) await link(own, path).catch(passWhenThere);
  else await rename(own, path);
  await rm(own, { force: true });
  return (await readFile(path, 'utf8')).trim();
}

function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}

function passWhenThere(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
}
