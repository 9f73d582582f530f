import { ConfigError } from '../config.ts';
import { connectClient } from './connection.ts';

/** More is slower on few cores. */
export const MAX_POOL_SIZE = 16;
/** Fewer, and a request waits for the site's own reading. */
export const MIN_POOL_SIZE = 2;
/** The one that holds locks. */
export const LOCK_CONNECTIONS = 1;
/** Of a budget nothing is left over by itself: a successor has a share of its own, since the server notices late that its predecessor is gone. */
const SUCCESSORS = 1;

export interface Budget {
  /** What names it, for the operator. */
  variable: string;
  /** How many connections all processes of this host may have together. */
  connections: number;
  processes: number;
  /** As in "at least 12 with OPENAISLE_WORKERS 3". */
  forWhat: string;
}

/**
 * The size of each process's pool, so that this host never has more than its budget. What other hosts have is theirs: all budgets
 * together have to fit into `room`, what the server takes, as well.
 */
export function shareBudget({ variable, connections, processes, forWhat }: Budget, room: number): number {
  if (connections > room) {
    throw new ConfigError([
      `${variable} must be at most ${room}, together with those of all other hosts: PostgreSQL takes no more (max_connections without the reserved ones)`,
    ]);
  }
  const shares = processes + SUCCESSORS;
  const each = Math.floor(connections / shares) - LOCK_CONNECTIONS;
  if (each >= MIN_POOL_SIZE) return Math.min(each, MAX_POOL_SIZE);
  throw new ConfigError([
    `${variable} must be at least ${shares * (MIN_POOL_SIZE + LOCK_CONNECTIONS)} ${forWhat}: ${MIN_POOL_SIZE + LOCK_CONNECTIONS} for each process, and for one that takes another's place`,
  ]);
}

/** How many connections the server lets ordinary roles have, all programs on all hosts together. */
export async function readConnectionRoom(url: string): Promise<number> {
  const client = await connectClient({ url, applicationName: 'openaisle-room', statementTimeoutMs: 5_000 });
  try {
    const { rows } = await client.query<{ room: number }>(`
      select (current_setting('max_connections')::int4 - current_setting('superuser_reserved_connections')::int4
        - coalesce(current_setting('reserved_connections', true), '0')::int4) as room`);
    return rows[0]?.room ?? 0;
  } finally {
    await client.end();
  }
}
