import { fileURLToPath } from 'node:url';
import { migrate } from '../platform/database/migrate.ts';
import { RightsMissing } from '../platform/database/migrations/check-rights.ts';
import type { OnProgress } from '../platform/database/migrations/run-steps.ts';
import { type ReachedDatabase, reachDatabase } from '../platform/database/reach-database.ts';
import type { Log } from '../platform/log.ts';
import { loadOwnPepper } from '../platform/pepper.ts';
import { undoOnFailure } from '../platform/undo-on-failure.ts';
import type { MarketConfig } from './context.ts';
import { warnOfExposure } from './warn-of-exposure.ts';

export const MIGRATIONS = fileURLToPath(new URL('../../migrations/market', import.meta.url));

/**
 * Brings the tables of the market up to this version and returns the names of what it applied, or says what has to be run under another role.
 * `rights` are run afterwards.
 */
export async function migrateMarket(
  url: string,
  onProgress?: OnProgress,
  rights?: readonly string[],
): Promise<string[]> {
  try {
    return await migrate(url, MIGRATIONS, onProgress, rights);
  } catch (error) {
    if (!(error instanceof RightsMissing)) throw error;
    const role = /^[\w-]+$/.test(error.role) ? error.role : `'${error.role.replaceAll("'", "'\\''")}'`;
    const command = `npm run migrate -- --app-role ${role}`;
    throw new Error(
      `${error.message}. Run "${command}" with the owner's DATABASE_URL, then this again (docs/upgrade.md)`,
    );
  }
}

/** What every web process stands on: a database with all tables, and a pepper. Done once, by the first process. Leaves nothing behind when it fails. */
export function prepareGround(config: MarketConfig, log: Log): Promise<ReachedDatabase> {
  warnOfExposure(config, log);
  return undoOnFailure(async (begun) => {
    const server = await reachDatabase(config, log);
    begun.defer(() => server.stop());
    const applied = await migrateMarket(server.url, ({ migration, step, rows }) =>
      log.info('migrating', { migration, step, count: rows }),
    );
    for (const name of applied) log.info('migrated', { migration: name });
    await loadOwnPepper(config);
    return server;
  });
}
