import type { Sql } from 'sql-template-tag';
import type { Database } from './database.ts';
import { isOutcomeUnknown } from './database-error.ts';

/** A database that tracks whether this process may have changed something through it. */
export interface NotedDatabase {
  database: Database;
  /**
   * Returns a number that changes after each possible write, before the writer continues. Null during a write, because others may see its
   * commit before this process does.
   */
  mark(): number | null;
}

export function noteWrites(database: Database): NotedDatabase {
  let underWay = 0;
  let changes = 0;
  const trackChange = async <T>(act: () => Promise<T>, hasChanged: (error: unknown) => boolean): Promise<T> => {
    underWay += 1;
    try {
      const value = await act();
      changes += 1;
      return value;
    } catch (error) {
      if (hasChanged(error)) changes += 1;
      throw error;
    } finally {
      underWay -= 1;
    }
  };
  // A statement may have taken effect even if it ended in an error.
  const runQuery = <T>(query: Sql, act: () => Promise<T>): Promise<T> =>
    onlyReads(query) ? act() : trackChange(act, () => true);
  return {
    mark: () => (underWay === 0 ? changes : null),
    database: {
      rows: (query) => runQuery(query, () => database.rows(query)),
      one: (query) => runQuery(query, () => database.one(query)),
      maybe: (query) => runQuery(query, () => database.maybe(query)),
      run: (query) => runQuery(query, () => database.run(query)),
      transaction: (act, options) => {
        const run = () => database.transaction(act, options);
        // A failed transaction was rolled back, unless the outcome of its commit is unknown.
        return options?.readOnly === true ? run() : trackChange(run, isOutcomeUnknown);
      },
      withAdvisoryLock: (key, act) => database.withAdvisoryLock(key, act),
      onOtherServer: (act) => database.onOtherServer(act),
      close: () => database.close(),
    },
  };
}

/** Every statement that changes rows contains one of these words, because none of our functions writes. */
function onlyReads(query: Sql): boolean {
  return /^\s*(?:select|with)\b/i.test(query.sql) && !/\b(?:insert|update|delete|merge)\b/i.test(query.sql);
}
