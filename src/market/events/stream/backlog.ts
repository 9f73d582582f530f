import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/database/database.ts';
import type { Log } from '../../../platform/log.ts';
import { encodeEvent } from './encode-event.ts';
import { readEventsAfter } from './store.ts';
import type { StreamFilter } from './stream-filter.ts';

/** For all clients together: clients that catch up leave the database to buyers. */
const AT_ONCE = 2;
const PAGE = 100;
const RETRY_MS = 1_000;

/** Who is behind, and how far. */
export interface Behind {
  cursor: number;
  filter: StreamFilter;
}

export interface BacklogOptions<Client extends Behind> {
  database: Database;
  clock: Clock;
  log: Log;
  stopped: AbortSignal;
  page?: number;
  /** How far the log goes. */
  head(): number;
  isGone(client: Client): boolean;
  /** The cursor has moved; null: nothing up to there is for this client. */
  take(client: Client, bytes: Buffer | null): void;
}

/** Pages for those whose place is not in memory any more: one at a time for each, in turn, a few at a time for all. */
export function createBacklog<Client extends Behind>(options: BacklogOptions<Client>): (client: Client) => void {
  const { database, clock, log, stopped, isGone, take, page = PAGE } = options;
  const waiting: Client[] = [];
  let reading = 0;
  let failing = false;

  const readPage = async (client: Client): Promise<void> => {
    const upToId = options.head();
    try {
      const { cursor, filter } = client;
      const rows = await readEventsAfter(database, filter.of, { afterId: cursor, upToId, limit: page });
      const last = rows.length < page ? undefined : rows.at(-1);
      client.cursor = last === undefined ? upToId : Number(last.id);
      failing = false;
      if (!isGone(client)) take(client, rows.length === 0 ? null : Buffer.concat(rows.map(encodeEvent)));
    } catch (error) {
      // One line for a whole outage.
      if (!failing) log.error('event_backlog_not_read', { error });
      failing = true;
      waiting.push(client);
      await clock.sleep(RETRY_MS, stopped);
    }
  };
  const next = (): void => {
    while (reading < AT_ONCE && !stopped.aborted) {
      const client = waiting.shift();
      if (client === undefined) return;
      if (isGone(client)) continue;
      reading += 1;
      void readPage(client).finally(() => {
        reading -= 1;
        next();
      });
    }
  };
  return (client) => {
    waiting.push(client);
    next();
  };
}
