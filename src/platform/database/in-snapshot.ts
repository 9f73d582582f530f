import type { Database, Queryable } from './database.ts';

/** Everything that `read` asks is of one moment. */
export async function inSnapshot<T>(database: Database, read: (queryable: Queryable) => Promise<T>): Promise<T> {
  return database.transaction(read, { isolation: 'repeatable read', readOnly: true });
}
