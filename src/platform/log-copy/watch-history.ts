import type { Clock } from '../clock.ts';
import type { Database, Queryable } from '../database/database.ts';
import { isUnavailable } from '../database/database-error.ts';
import type { Log } from '../log.ts';
import { CommandRefused } from '../run-command.ts';
import { type CopiedEvent, isNextEvent, type LogEnd, readLogEnd } from './log-copy.ts';
import { findLastAlike, findOtherEnd, insertLoss, type LogAtEnd, type Losses, readLogAtEnd } from './store.ts';
import { watchGrowth } from './watch-growth.ts';

const COMPARE_EVERY_MS = 10_000;
/** Interval for reading losses that other processes recorded. */
const READ_LOSSES_EVERY_MS = 1_000;
/** Pause between two reads that must agree before anything stops. */
const SECOND_READING_MS = 500;

interface WatchContext<SiteLosses extends Losses> {
  database: Database;
  clock: Clock;
  log: Log;
  /** Folder of this host's copy; null: it keeps none. */
  folder: string | null;
  host: string;
  /** Process id of the writer of this host's copy; null if it is not known. */
  writer(): number | null;
  readLosses(queryable: Queryable): Promise<SiteLosses>;
  /** The database holds another history. Read everything again. */
  onOtherHistory(): void;
}

export interface HistoryWatch<SiteLosses extends Losses> {
  /** Compares once before anything is served, then regularly. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Compares now, on the connection passed if there is one. */
  compare(queryable?: Queryable): Promise<void>;
  /** While true, nothing is written and no buyer is asked to pay. */
  isLost(): boolean;
  /** Losses as last read; null before the first comparison. */
  losses(): SiteLosses | null;
  /** `none`: nothing remembers the earlier log, so a restore would go unnoticed. */
  memory(): 'kept' | 'none';
  /** Since when the log has grown and this host's copy has not, in milliseconds since 1970; null if it grows, or there is none. */
  behindSince(): number | null;
}

/** Notices if the database holds less than what was public, and then stops every process. */
export function watchHistory<SiteLosses extends Losses>(context: WatchContext<SiteLosses>): HistoryWatch<SiteLosses> {
  const { database, clock, log, readLosses } = context;
  const stopping = new AbortController();
  const { signal } = stopping;
  /** A loss that was found here, but not recorded for the others yet. */
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
      // `Math.abs` also covers a clock that was set back.
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

/** `loss` is null if nothing is missing, or that cannot be told. */
async function findLoss(
  { clock, host }: Pick<WatchContext<Losses>, 'clock' | 'host'>,
  { own, queryable }: { own: LogEnd | null; queryable: Queryable },
): Promise<{ loss: { copy: LogEnd; foundId: bigint } | null; remembers: boolean; inRecovery: boolean }> {
  const copy = own ?? (await findOtherEnd(queryable, host));
  const first = await readLogAtEnd(queryable, copy?.id ?? 0n);
  const { inRecovery } = first;
  // An empty log has nothing to remember.
  if (copy === null) return { loss: null, remembers: first.newestId === 0n, inRecovery };
  const nothing = { loss: null, remembers: true, inRecovery };
  if (first.lostId !== null || compareLog(copy, first) !== 'lost') return nothing;
  await clock.sleep(SECOND_READING_MS);
  const second = await readLogAtEnd(queryable, copy.id);
  return compareLog(copy, second) === 'lost' ? { ...nothing, loss: { copy, foundId: second.newestId } } : nothing;
}

/**
 * `same`: the log holds the end of the copy. `unknown`: there is nothing to compare, or the server is in recovery and may lag. `lost`: the
 * log lacks public events, or has others under their ids.
 */
type Comparison = 'same' | 'unknown' | 'lost';

export function compareLog(copy: LogEnd | null, log: LogAtEnd): Comparison {
  if (log.inRecovery || copy === null) return 'unknown';
  if (log.leftOut) return 'same';
  if (log.newestId < copy.id) return 'lost';
  return log.hash?.equals(copy.hash) === true ? 'same' : 'lost';
}

const COMPARED_AT_ONCE = 10_000;

/** Returns the last shared id of copies and log, or `newest` if the copies continue the log. Throws if neither is certain. */
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
  // Searches from the end: events that an earlier recovery left out are in the copies, but not in the log.
  for (let end = copied.length; end > 0; end -= COMPARED_AT_ONCE) {
    const alike = await findLastAlike(queryable, copied.slice(Math.max(0, end - COMPARED_AT_ONCE), end));
    if (alike !== null) return alike;
  }
  if (first.id === newest + 1n) return newest;
  throw new CommandRefused(
    `the log ends with event ${newest}, and the copies begin with event ${first.id}: name older files too, or --without-log-copy`,
  );
}
