import { link, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, isoTime } from '../clock.ts';
import { nullIfMissing } from '../data-folder.ts';
import type { Database, Queryable } from '../database/database.ts';
import { constraintOf } from '../database/database-error.ts';
import type { Log } from '../log.ts';
import type { Random } from '../random.ts';
import { Refusal } from '../refusal.ts';
import { type KeptCopy, keepLogCopy } from './keep-copy.ts';
import type { Losses } from './store.ts';
import { type HistoryWatch, watchHistory } from './watch-history.ts';

export interface LogCopyPlace {
  folder: string;
  host: string;
}

interface PlaceConfig {
  /** Null: a folder inside the data folder. */
  logCopyDir: string | null;
  dataDir: string;
  /** Null: PostgreSQL in the data folder. */
  databaseUrl: string | null;
}

export function logCopyFolder({ logCopyDir, dataDir }: Pick<PlaceConfig, 'logCopyDir' | 'dataDir'>): string {
  return logCopyDir ?? join(dataDir, 'log-copy');
}

/** Creates the folder and a name for the host if they are missing. Warns if a restore would set back the copy along with the database. */
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

/** Reads or creates the host's name. Processes that start together agree on the first name. Replaces a file that a crash has torn. */
async function readHost(path: string, random: Random): Promise<string> {
  const existing = await readFile(path, 'utf8').catch(nullIfMissing);
  if (existing !== null && HOST.test(existing)) return existing.trim();
  // Write the whole file before it gets its name, so that readers never see half of it.
  const own = `${path}.${random.uuid()}`;
  await writeFile(own, `${random.uuid()}\n`, { mode: 0o600, flush: true });
  if (existing === null) await link(own, path).catch(ignoreExisting);
  else await rename(own, path);
  await rm(own, { force: true });
  return (await readFile(path, 'utf8')).trim();
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
}

export interface History<SiteLosses extends Losses>
  extends Pick<HistoryWatch<SiteLosses>, 'start' | 'isLost' | 'losses'> {
  stop(): Promise<void>;
  status(): HistoryStatus;
  facts(): HistoryFacts;
}

export interface HistoryStatus {
  history: 'lost' | 'whole';
  /** `none`: nothing here would notice that the database was set back. `behind`: the log has grown, but the copy has not. */
  log_copy: 'kept' | 'behind' | 'none';
  log_copy_behind_since?: string;
}

export interface HistoryFacts {
  lost: boolean;
  remembers: boolean;
  writesCopy: boolean;
  copyFails: boolean;
  /** Seconds for which the log has grown and the copy has not. 0 if the copy is growing. */
  copyBehindSeconds: number;
}

interface HistoryContext<SiteLosses extends Losses> {
  database: Database;
  clock: Clock;
  log: Log;
  /** Null: this process keeps no copy, and learns of losses only from other processes. */
  place: LogCopyPlace | null;
  /** The newest event id of the log, as far as this process knows. A process that does not know may return a higher number. */
  newestId(): bigint;
  readLosses(queryable: Queryable): Promise<SiteLosses>;
  /** Called when the database contains another history, so everything must be read again. */
  onOtherHistory(): void;
}

function secondsSince(since: number | null, clock: Clock): number {
  return since === null ? 0 : Math.max(1, Math.floor((clock.now() - since) / 1_000));
}

const NO_HOST = '00000000-0000-0000-0000-000000000000';

/** Remembers the log of a site. Stops the site if the database no longer contains that log. */
export function createHistory<SiteLosses extends Losses>(context: HistoryContext<SiteLosses>): History<SiteLosses> {
  const { database, place } = context;
  const where = place ?? { folder: null, host: NO_HOST };
  const watch = watchHistory({ ...context, ...where, writer: () => copy?.writer() ?? null });
  const following = { newestId: context.newestId, isLost: watch.isLost, onBreak: () => watch.compare() };
  const copy: KeptCopy | null = place === null ? null : keepLogCopy({ ...context, ...place, ...following });
  const statusOfCopy = (): Omit<HistoryStatus, 'history'> => {
    const since = watch.behindSince();
    return since === null
      ? { log_copy: watch.memory() }
      : { log_copy: 'behind', log_copy_behind_since: isoTime(since) };
  };
  return {
    start: async () => {
      await watch.start();
      // Compare before anything uses a connection to a restarted or different server.
      database.onOtherServer(watch.compare);
      copy?.start();
    },
    stop: async () => {
      await copy?.stop();
      await watch.stop();
    },
    isLost: watch.isLost,
    losses: watch.losses,
    status: () => ({ history: watch.isLost() ? 'lost' : 'whole', ...statusOfCopy() }),
    facts: () => ({
      lost: watch.isLost(),
      remembers: watch.memory() === 'kept',
      writesCopy: copy?.isWriter() ?? false,
      copyFails: copy?.isFailing() ?? false,
      copyBehindSeconds: secondsSince(watch.behindSince(), context.clock),
    }),
  };
}

const RETRY_SECONDS = 60;

export function historyLost(): Refusal {
  return new Refusal('history_lost', { retryAfterSeconds: RETRY_SECONDS });
}

/**
 * Converts the error of a write that the database rejected because history is lost, which this process may not know yet. Null for other
 * errors.
 */
export function refuseLost(error: unknown): Refusal | null {
  return constraintOf(error)?.constraint === 'history_is_whole' ? historyLost() : null;
}
