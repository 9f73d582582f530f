import { ConfigError } from '../../platform/config.ts';

/** More is slower on few cores. */
const MOST = 16;
/** Fewer, and a request waits for the catalog's own reading. */
const LEAST = 2;
/** The one that holds locks. */
const BESIDE_THE_POOL = 1;
/** Of all that the server takes; the rest is for tools, and for a successor that starts while its predecessor ends. */
const SHARE = 0.8;

/** The size of each web process's pool, so that all together leave room on the server. */
export function shareConnections(workers: number, room: number): number {
  const each = Math.floor((room * SHARE) / workers) - BESIDE_THE_POOL;
  if (each >= LEAST) return Math.min(each, MOST);
  const needed = Math.ceil((workers * (LEAST + BESIDE_THE_POOL)) / SHARE);
  throw new ConfigError([
    `OPENAISLE_WORKERS must be lower, or max_connections of PostgreSQL higher: so many need ${needed} connections, and it takes ${room}`,
  ]);
}
