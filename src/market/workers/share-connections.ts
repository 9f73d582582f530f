import { ConfigError } from '../../platform/config.ts';
import { readConnectionRoom } from '../../platform/database/connection-room.ts';
import type { MarketConfig } from '../context.ts';

/** More is slower on few cores. */
const MOST = 16;
/** Fewer, and a request waits for the catalog's own reading. */
const LEAST = 2;
/** The one that holds locks. */
const BESIDE_THE_POOL = 1;
/** Of all that the server takes; the rest is for tools, and for a successor that starts while its predecessor ends. */
const SHARE = 0.8;
/** Of a budget nothing is left over by itself: a successor has a share of its own, since the server notices late that its predecessor is gone. */
const SUCCESSORS = 1;

/** The size of each process's pool; null: as large as it is by itself, where this is the only one and nobody has given it a budget. */
export async function sizePools(
  { workers, databaseConnections: budget }: Pick<MarketConfig, 'workers' | 'databaseConnections'>,
  url: string,
): Promise<number | null> {
  if (budget !== null) return shareBudget(budget, workers, await readConnectionRoom(url));
  return workers === 1 ? null : shareConnections(workers, await readConnectionRoom(url));
}

/** So that all together leave room on the server. */
export function shareConnections(workers: number, room: number): number {
  const each = Math.floor((room * SHARE) / workers) - BESIDE_THE_POOL;
  if (each >= LEAST) return Math.min(each, MOST);
  const needed = Math.ceil((workers * (LEAST + BESIDE_THE_POOL)) / SHARE);
  throw new ConfigError([
    `OPENAISLE_WORKERS must be lower, or max_connections of PostgreSQL higher: so many need ${needed} connections, and it takes ${room}`,
  ]);
}

/** So that this host never has more than its budget. What other hosts have is theirs: all budgets together have to fit as well. */
export function shareBudget(budget: number, workers: number, room: number): number {
  if (budget > room) {
    throw new ConfigError([
      `OPENAISLE_DATABASE_CONNECTIONS must be at most ${room}, together with those of all other hosts: PostgreSQL takes no more (max_connections without the reserved ones)`,
    ]);
  }
  const shares = workers + SUCCESSORS;
  const each = Math.floor(budget / shares) - BESIDE_THE_POOL;
  if (each >= LEAST) return Math.min(each, MOST);
  throw new ConfigError([
    `OPENAISLE_DATABASE_CONNECTIONS must be at least ${shares * (LEAST + BESIDE_THE_POOL)} with OPENAISLE_WORKERS ${workers}: ${LEAST + BESIDE_THE_POOL} for each process, and for one that takes another's place`,
  ]);
}
