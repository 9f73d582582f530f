import { ConfigError } from '../../platform/config.ts';
import {
  BESIDE_THE_POOL,
  LEAST,
  MOST,
  readConnectionRoom,
  shareBudget,
} from '../../platform/database/connection-budget.ts';
import type { MarketConfig } from '../context.ts';

/** Of all that the server takes; the rest is for tools, and for a successor that starts while its predecessor ends. */
const SHARE = 0.8;
/** The size of each process's pool; null: the default size, for a single process without a configured budget. */
export async function sizePools(
  { workers, databaseConnections: budget }: Pick<MarketConfig, 'workers' | 'databaseConnections'>,
  url: string,
): Promise<number | null> {
  if (budget !== null) {
    const named = { variable: 'OPENAISLE_DATABASE_CONNECTIONS', forWhat: `with OPENAISLE_WORKERS ${workers}` };
    return shareBudget({ ...named, connections: budget, processes: workers }, await readConnectionRoom(url));
  }
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
