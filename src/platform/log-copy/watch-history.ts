import type { Clock } from '../clock.ts';
import type { Database, Queryable } from '../database/database.ts';
import { isUnavailable } from '../database/database-error.ts';
import type { Log } from '../log.ts';
import { CommandRefused } from '../run-command.ts';
import { type CopiedEvent, isNextEvent, type LogEnd, readLogEnd } from './log-copy.ts';
import { findLastAlike, findOtherEnd, insertLoss, type LogAtEnd, type Losses, readLogAtEnd } from './store.ts';
import { watchGrowth } from './watch-growth.ts';

const COMPARE_EVERY_MS = 10_000;
/** Interval at which losses that other processes recorded are read. */
const READ_LOSSES_EVERY_MS = 1_000;
/** Pause between two reads that must agree before anything is stopped. */
const SECOND_READING_MS = 500;

interface WatchContext<SiteLosses extends Losses> {
  database: Database;
  clock: Clock;
  log: Log;
  /** Folder of this host's copy. Null: the host keeps none. */
  folder: string | null;
  host: string;
  /** Process id of the writer of this host's copy. Null if unknown. */
  writer(): number | null;
  readLosses(queryable: Queryable): Promise<SiteLosses>;
  /** Called when the database contains another history, so everything must be read again. */
  onOtherHistory(): void;
}

export interface HistoryWatch<SiteLosses extends Losses> {
  /** Compares once before anything is served, then regularly. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Compares now, on `queryable` if it is passed. */
  compare(queryable?: Queryable): Promise<void>;
  /** While true, nothing may be written and no buyer may be asked to pay. */
  isLost(): boolean;
  /** Losses as last read. Null before the first comparison. */
  losses(): SiteLosses | null;
  /** `none`: nothing remembers the earlier log, so nobody would notice a restore. */
  memory(): 'kept' | 'none';
  /** Since when the log has grown without this host's copy, in milliseconds since 1970. Null if the copy is growing or there is none. */
  behindSince(): number | null;
}

/** Detects that the database contains less than was already public, and then stops every process. */
export function watchHistory<SiteLosses extends Losses>(context: WatchContext<SiteLosses>): HistoryWatch<SiteLosses> {
  const { database, clock, log, readLosses } = context;
  const stopping = new AbortController();
  const { signal } = stopping;
  /** True while this process has found a loss that it has not yet recorded for the other processes. */
  let hasUnrecordedLoss = false;
  let remembers: boolean | null = null;
  let lastLosses: SiteLosses | null = null;
  let running: Promise<void> | null = null;
  const growth = watchGrowth(context);
  const isLost = (): boolean => hasUnrecordedLoss || (lastLosses !== null && lastLosses.open !== null);

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
    hasUnrecordedLoss = loss !== null;
    if (loss !== null) {
      const isFirst = await insertLoss(queryable, { ...loss, host: context.host, now: new Date(clock.now()) });
      if (isFirst) log.error('history_lost', { event_id: Number(loss.copy.id), count: Number(loss.foundId) });
      hasUnrecordedLoss = false;
    }
    updateLosses(await readLosses(queryable));
    await growth.check(queryable, own, context.folder !== null && !inRecovery && !isLost());
  };
  const watch = async (): Promise<void> => {
    let comparedAt = clock.now();
    let isFailing = false;
    while (!signal.aborted) {
      await clock.sleep(READ_LOSSES_EVERY_MS, signal);
      if (signal.aborted) return;
      // `Math.abs` also covers a clock that was set back.
      const isDue = Math.abs(clock.now() - comparedAt) >= COMPARE_EVERY_MS;
      try {
        if (isDue) await compare();
        else updateLosses(await readLosses(database));
        if (isDue) comparedAt = clock.now();
        isFailing = false;
      } catch (error) {
        if (!isFailing && !isUnavailable(error)) log.error('history_comparison_failed', { error });
        isFailing = true;
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

/** `loss` is null if nothing is missing, or if we cannot tell. */
async function findLoss(
  { clock, host }: Pick<WatchContext<Losses>, 'clock' | 'host'>,
  { own, queryable }: { own: LogEnd | null; queryable: Queryable },
): Promise<{ loss: { copy: LogEnd; foundId: bigint } | null; remembers: boolean; inRecovery: boolean }> {
  const copy = own ?? (await findOtherEnd(queryable, host));
  const first = await readLogAtEnd(queryable, copy?.id ?? 0n);
  const { inRecovery } = first;
  // Without a copy, no loss can be noticed. An empty log has nothing to lose and needs no copy.
  if (copy === null) return { loss: null, remembers: first.newestId === 0n, inRecovery };
  const nothing = { loss: null, remembers: true, inRecovery };
  if (first.lostId !== null || compareLog(copy, first) !== 'lost') return nothing;
  await clock.sleep(SECOND_READING_MS);
  const second = await readLogAtEnd(queryable, copy.id);
  return compareLog(copy, second) === 'lost' ? { ...nothing, loss: { copy, foundId: second.newestId } } : nothing;
}

/**
 * `same`: the log contains the end of the copy. `unknown`: there is nothing to compare, or the server is in recovery and may lag. `lost`:
 * public events are missing from the log, or other events have their ids.
 */
type Comparison = 'same' | 'unknown' | 'lost';

export function compareLog(copy: LogEnd | null, log: LogAtEnd): Comparison {
  if (log.inRecovery || copy === null) return 'unknown';
  if (log.leftOut) return 'same';
  if (log.newestId < copy.id) return 'lost';
  return log.hash?.equals(copy.hash) === true ? 'same' : 'lost';
}

const COMPARED_AT_ONCE = 10_000;

/** Returns the last id that copies and log have in common, or `newest` if the copies continue the log. Throws if neither is certain. */
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
  // Search from the end, because events that an earlier recovery left out are in the copies but not in the log.
  for (let end = copied.length; end > 0; end -= COMPARED_AT_ONCE) {
    const alike = await findLastAlike(queryable, copied.slice(Math.max(0, end - COMPARED_AT_ONCE), end));
    if (alike !== null) return alike;
  }
  if (first.id === newest + 1n) return newest;
  throw new CommandRefused(
    `the log ends with event ${newest}, and the copies begin with event ${first.id}: name older files too, or --without-log-copy`,
  );
}
