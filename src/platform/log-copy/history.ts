import type { Clock } from '../clock.ts';
import type { Database, Queryable } from '../database/database.ts';
import { constraintOf } from '../database/database-error.ts';
import type { Log } from '../log.ts';
import { Refusal } from '../refusal.ts';
import { type KeptCopy, keepLogCopy } from './keep-copy.ts';
import type { LogCopyPlace } from './place.ts';
import type { Losses } from './store.ts';
import { type HistoryWatch, watchHistory } from './watch-history.ts';

export interface History<Known extends Losses>
  extends Pick<HistoryWatch<Known>, 'start' | 'isLost' | 'losses' | 'memory'> {
  stop(): Promise<void>;
  facts(): HistoryFacts;
}

export interface HistoryFacts {
  lost: boolean;
  remembers: boolean;
  writesCopy: boolean;
  copyFails: boolean;
}

interface HistoryContext<Known extends Losses> {
  database: Database;
  clock: Clock;
  log: Log;
  /** Null: this process keeps no copy and only hears of what others notice. */
  place: LogCopyPlace | null;
  /** How far the log goes, as far as this process knows; one that does not know may say more. */
  newestId(): bigint;
  readLosses(queryable: Queryable): Promise<Known>;
  /** Another history stands in the database: whatever was read of it has to be read again. */
  onOtherHistory(): void;
}

const NO_HOST = '00000000-0000-0000-0000-000000000000';

/** Remembers what the log of a site held, and stops the site when the database holds it no more (W16). */
export function createHistory<Known extends Losses>(context: HistoryContext<Known>): History<Known> {
  const { database, place } = context;
  const where = place ?? { folder: null, host: NO_HOST };
  const watch = watchHistory({ ...context, ...where });
  const following = { newestId: context.newestId, isLost: watch.isLost, onBreak: () => watch.compare() };
  const copy: KeptCopy | null = place === null ? null : keepLogCopy({ ...context, ...place, ...following });
  return {
    start: async () => {
      await watch.start();
      // Before a connection to a restarted server, or to another one, is used for anything.
      database.onOtherServer(watch.compare);
      copy?.start();
    },
    stop: async () => {
      await copy?.stop();
      await watch.stop();
    },
    isLost: watch.isLost,
    losses: watch.losses,
    memory: watch.memory,
    facts: () => ({
      lost: watch.isLost(),
      remembers: watch.memory() === 'kept',
      writesCopy: copy?.isWriter() ?? false,
      copyFails: copy?.isFailing() ?? false,
    }),
  };
}

const RETRY_SECONDS = 60;

export function historyLost(): Refusal {
  return new Refusal('history_lost', { retryAfterSeconds: RETRY_SECONDS });
}

/** What the database refuses by itself, before this process has heard of a loss; null for anything else. */
export function refuseLost(error: unknown): Refusal | null {
  return constraintOf(error)?.constraint === 'history_is_whole' ? historyLost() : null;
}
