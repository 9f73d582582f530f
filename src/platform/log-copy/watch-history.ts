import type { Clock } from '../clock.ts';
import type { Database, Queryable } from '../database/database.ts';
import { isUnavailable } from '../database/database-error.ts';
import type { Log } from '../log.ts';
import { CommandRefused } from '../run-command.ts';
import { type CopiedEvent, isNextEvent, type LogEnd, readLogEnd } from './log-copy.ts';
import { findLastAlike, findOtherEnd, insertLoss, type LogAtEnd, type Losses, readLogAtEnd } from './store.ts';
import { watchGrowth } from './watch-growth.ts';

const COMPARE_EVERY_MS = 10_000;
/** What another process has noticed. */
const READ_LOSSES_EVERY_MS = 1_000;
/** Between the two readings that have to agree before anything is stopped. */
const SECOND_READING_MS = 500;

interface WatchContext<SiteLosses extends Losses> {
  database: Database;
  clock: Clock;
  log: Log;
  /** Of this host's copy; null: it keeps none. */
  folder: string | null;
  host: string;
  /** The process that writes this host's copy; null where that is not known. */
  writer(): number | null;
  readLosses(queryable: Queryable): Promise<SiteLosses>;
  /** Another history stands in the database: whatever was read of it has to be read again. */
  onOtherHistory(): void;
}

export interface HistoryWatch<SiteLosses extends Losses> {
  /** Compares before anything is served, then again and again. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Compares now, by that connection where one is given. */
  compare(queryable?: Queryable): Promise<void>;
  /** While history is lost, nothing is written and no buyer is asked to pay. */
  isLost(): boolean;
  /** As they were last read; null before the first comparison. */
  losses(): SiteLosses | null;
  /** `none`: nothing remembers what this log held before; a restore would not be noticed. */
  memory(): 'kept' | 'none';
  /** Since when this host's copy has not grown while the log did; null: it does, or there is none. Milliseconds since 1970. */
  behindSince(): number | null;
}

/** Notices when the database holds less than what was public, and stops every process then. */
export function watchHistory<SiteLosses extends Losses>(context: WatchContext<SiteLosses>): HistoryWatch<SiteLosses> {
  const { database, clock, log, readLosses } = context;
  const stopping = new AbortController();
  const { signal } = stopping;
  /** Found here, and not yet written down for the others. */
  let unwritten = false;
  let remembers: boolean | null = null;
  let lastLosses: SiteLosses | null = null;
  let running: Promise<void> | null = null;
  const growth = watchGrowth(context);
  const isLost = (): boolean => unwritten || (lastLosses !== null && lastLosses.open !== null);

  const updateLosses = (losses: SiteLosses): void => {
    const isOther = lastLosses !== null && losses.count !== lastLosses.count;
    lastLosses = losses;
    if (isOther) context.onOtherHistory();
  };
  const compare = async (queryable: Queryable = database): Promise<void> => {
    const own = context.folder === null ? null : await readLogEnd(context.folder);
    const { loss, remembers: has, inRecovery } = await findLoss(context, { own, queryable });
    if (!has && remembers !== false) log.warn('log_copy_missing');
    remembers = has;
    unwritten = loss !== null;
    if (loss !== null) {
      const isFirst = await insertLoss(queryable, { ...loss, host: context.host, now: new Date(clock.now()) });
      if (isFirst) log.error('history_lost', { event_id: Number(loss.copy.id), count: Number(loss.foundId) });
      unwritten = false;
    }
    updateLosses(await readLosses(queryable));
    await growth.check(queryable, own, context.folder !== null && !inRecovery && !isLost());
  };
  const watch = async (): Promise<void> => {
    let comparedAt = clock.now();
    let failing = false;
    while (!signal.aborted) {
      await clock.sleep(READ_LOSSES_EVERY_MS, signal);
      if (signal.aborted) return;
      // Also where the clock was set back.
      const isDue = Math.abs(clock.now() - comparedAt) >= COMPARE_EVERY_MS;
      try {
        if (isDue) await compare();
        else updateLosses(await readLosses(database));
        if (isDue) comparedAt = clock.now();
        failing = false;
      } catch (error) {
        if (!failing && !isUnavailable(error)) log.error('history_comparison_failed', { error });
        failing = true;
      }
    }
  };
  return {
    start: async () => {
      await compare();
      running ??= watch();
    },
    stop: async () => {
      stopping.abort();
      await running;
    },
    compare,
    isLost,
    losses: () => lastLosses,
    memory: () => (remembers === true ? 'kept' : 'none'),
    behindSince: growth.behindSince,
  };
}

/** `loss` is null if nothing is missing, or if that cannot be told. */
async function findLoss(
  { clock, host }: Pick<WatchContext<Losses>, 'clock' | 'host'>,
  { own, queryable }: { own: LogEnd | null; queryable: Queryable },
): Promise<{ loss: { copy: LogEnd; foundId: bigint } | null; remembers: boolean; inRecovery: boolean }> {
  const copy = own ?? (await findOtherEnd(queryable, host));
  const first = await readLogAtEnd(queryable, copy?.id ?? 0n);
  const { inRecovery } = first;
  // In an empty log there is nothing to remember.
  if (copy === null) return { loss: null, remembers: first.newestId === 0n, inRecovery };
  const nothing = { loss: null, remembers: true, inRecovery };
  if (first.lostId !== null || compareLog(copy, first) !== 'lost') return nothing;
  await clock.sleep(SECOND_READING_MS);
  const second = await readLogAtEnd(queryable, copy.id);
  return compareLog(copy, second) === 'lost' ? { ...nothing, loss: { copy, foundId: second.newestId } } : nothing;
}

/**
 * `same`: the log holds what the copy ends with. `unknown`: there is nothing to compare, or the server is in recovery and may lag.
 * `lost`: what was public is not in the log, or other content has its id.
 */
type Comparison = 'same' | 'unknown' | 'lost';

export function compareLog(copy: LogEnd | null, log: LogAtEnd): Comparison {
  if (log.inRecovery || copy === null) return 'unknown';
  if (log.leftOut) return 'same';
  if (log.newestId < copy.id) return 'lost';
  return log.hash?.equals(copy.hash) === true ? 'same' : 'lost';
}

const COMPARED_AT_ONCE = 10_000;

/** The last event that copies and log have alike: from there on they part. `newest`: the log's own last. Refuses copies that do not tell. */
export async function findLastCommonId(
  queryable: Queryable,
  copied: readonly CopiedEvent[],
  newest: bigint,
): Promise<bigint> {
  const [first] = copied;
  if (first === undefined)
    throw new CommandRefused('the copies hold no event: name other files, or --without-log-copy');
  for (const [at, event] of copied.entries()) {
    if (!isNextEvent(copied[at - 1] ?? null, event)) {
      throw new CommandRefused(`the copies are damaged: event ${event.id} does not follow from the one before it`);
    }
  }
  // From the end: what an earlier recovery left out is in the copies too, and not in the log.
  for (let end = copied.length; end > 0; end -= COMPARED_AT_ONCE) {
    const alike = await findLastAlike(queryable, copied.slice(Math.max(0, end - COMPARED_AT_ONCE), end));
    if (alike !== null) return alike;
  }
  if (first.id === newest + 1n) return newest;
  throw new CommandRefused(
    `the log ends with event ${newest}, and the copies begin with event ${first.id}: name older files too, or --without-log-copy`,
  );
}
