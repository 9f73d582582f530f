import { link, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database/database.ts';
import { isMissing } from '../../platform/is-missing.ts';
import type { Log } from '../../platform/log.ts';
import type { Random } from '../../platform/random.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { MarketConfig } from '../context.ts';
import type { EventTail } from '../events/event-tail.ts';
import { type KeptCopy, keepLogCopy } from './keep-copy.ts';
import { type HistoryWatch, watchHistory } from './watch-history.ts';

/** Where a host keeps its copy of the log, and the name under which the database knows it. */
export interface LogCopyPlace {
  folder: string;
  host: string;
}

export function logCopyFolder({ logCopyDir, dataDir }: Pick<MarketConfig, 'logCopyDir' | 'dataDir'>): string {
  return logCopyDir ?? join(dataDir, 'log-copy');
}

/** Makes the folder, and a name for the host, if they are not there. Warns where a restore would take the copy back together with the database. */
export async function openLogCopyPlace(
  config: Pick<MarketConfig, 'logCopyDir' | 'dataDir' | 'databaseUrl'>,
  { random, log }: { random: Random; log: Log },
): Promise<LogCopyPlace> {
  const folder = logCopyFolder(config);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (config.databaseUrl === null && (await isOnOneVolume(folder, config.dataDir))) {
    const why =
      'a restore of this volume takes the copy back too; set OPENAISLE_LOG_COPY_DIR to a folder on another one';
    log.warn('log_copy_beside_database', { path: folder, why });
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
  // It gets its name once it is whole: whoever finds the name finds all of it.
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

type Watched = 'start' | 'isLost' | 'hasLocks' | 'hasRecentRecovery' | 'recoveredAt' | 'memory';

export interface History extends Pick<HistoryWatch, Watched> {
  stop(): Promise<void>;
  facts(): HistoryFacts;
}

export interface HistoryFacts {
  lost: boolean;
  remembers: boolean;
  writesCopy: boolean;
  copyFails: boolean;
}

interface Needs {
  database: Database;
  clock: Clock;
  log: Log;
  /** Null: this process keeps no copy and only hears of what others notice. */
  place: LogCopyPlace | null;
  events: Pick<EventTail, 'version'>;
  /** Read anew when another history stands in the database. */
  catalog: Pick<Catalog, 'reload'>;
}

const NO_HOST = '00000000-0000-0000-0000-000000000000';

/** Remembers what the log held, and stops the market when the database holds it no more (W16). */
export function createHistory(needs: Needs): History {
  const { database, place, catalog, events } = needs;
  const where = place ?? { folder: null, host: NO_HOST };
  const watch = watchHistory({ ...needs, ...where, onOtherHistory: catalog.reload });
  const following = { newestId: () => BigInt(events.version()), isLost: watch.isLost, onBreak: () => watch.look() };
  const copy: KeptCopy | null = place === null ? null : keepLogCopy({ ...needs, ...place, ...following });
  return {
    start: async () => {
      await watch.start();
      // Before a connection to a server that was started anew, or to another one, is used for anything.
      database.onOtherServer(watch.look);
      copy?.start();
    },
    stop: async () => {
      await copy?.stop();
      await watch.stop();
    },
    isLost: watch.isLost,
    hasLocks: watch.hasLocks,
    hasRecentRecovery: watch.hasRecentRecovery,
    recoveredAt: watch.recoveredAt,
    memory: watch.memory,
    facts: () => ({
      lost: watch.isLost(),
      remembers: watch.memory() === 'kept',
      writesCopy: copy?.isWriter() ?? false,
      copyFails: copy?.isFailing() ?? false,
    }),
  };
}
