import type { ClientBase } from 'pg';
import type { Queryable } from './database.ts';
import { DatabaseUnavailable } from './database-error.ts';
import { createQueryable, runQuery } from './run-query.ts';

/** Which server, since when, and which database of it: another answer means that what was read before may not be there. */
const IDENTITY = `select pg_postmaster_start_time()::text || ' ' || oid as identity from pg_database where datname = current_database()`;

export interface ServerCheck {
  /** For each new connection, before its first use. */
  check(client: ClientBase): Promise<void>;
  listen(act: (queryable: Queryable) => Promise<void>): void;
}

/** Reports when connections begin to lead to another server, or to a restarted one. */
export function createServerCheck(): ServerCheck {
  let known: string | null = null;
  let listener: ((queryable: Queryable) => Promise<void>) | null = null;
  const look = async (client: ClientBase): Promise<void> => {
    try {
      await listener?.(createQueryable((query) => runQuery(client, query)));
    } catch (error) {
      // A server that could not be looked at serves no caller, as if it were away.
      throw new DatabaseUnavailable(error, false);
    }
  };
  return {
    check: async (client) => {
      const { rows } = await client.query<{ identity: string }>(IDENTITY);
      const identity = rows[0]?.identity ?? '';
      // Known only once it was looked at: until then every new connection looks.
      if (known !== null && identity !== known) await look(client);
      known = identity;
    },
    listen: (act) => {
      listener = act;
    },
  };
}
