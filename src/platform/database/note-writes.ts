import type { Sql } from 'sql-template-tag';
import type { Database } from './database.ts';
import { isOutcomeUnknown } from './database-error.ts';

/** A database of which is known whether this process may have changed something through it. */
export interface NotedDatabase {
  database: Database;
  /**
   * A number that changes after each statement or transaction that may have changed something, before its caller goes on. Null while one
   * is under way: another client may have seen what it has committed before this process has heard of it.
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
  // What its answer was refused for may have been done all the same.
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
        // One that failed was rolled back, unless its commit was never answered.
        return options?.readOnly === true ? run() : trackChange(run, isOutcomeUnknown);
      },
      withAdvisoryLock: (key, act) => database.withAdvisoryLock(key, act),
      onOtherServer: (act) => database.onOtherServer(act),
      close: () => database.close(),
    },
  };
}

/** No statement changes a row without one of these words, and there is no function here that does it out of sight. */
function onlyReads(query: Sql): boolean {
  return /^\s*(?:select|with)\b/i.test(query.sql) && !/\b(?:insert|update|delete|merge)\b/i.test(query.sql);
}
