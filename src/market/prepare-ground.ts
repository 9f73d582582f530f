import { fileURLToPath } from 'node:url';
import { migrate } from '../platform/database/migrate.ts';
import { type ReachedDatabase, reachDatabase } from '../platform/database/reach-database.ts';
import type { Log } from '../platform/log.ts';
import { loadOwnPepper } from '../platform/pepper.ts';
import { undoOnFailure } from '../platform/undo-on-failure.ts';
import type { MarketConfig } from './context.ts';
import { warnOfExposure } from './warn-of-exposure.ts';

export const MIGRATIONS = fileURLToPath(new URL('../../migrations/market', import.meta.url));

/** What every web process stands on: a database with all tables, and a pepper. Done once, by the first process. Leaves nothing behind when it fails. */
export function prepareGround(config: MarketConfig, log: Log): Promise<ReachedDatabase> {
  warnOfExposure(config, log);
  return undoOnFailure(async (begun) => {
    const server = await reachDatabase(config, log);
    begun.defer(() => server.stop());
    const applied = await migrate(server.url, MIGRATIONS, ({ migration, step, rows }) =>
      log.info('migrating', { migration, step, count: rows }),
    );
    for (const name of applied) log.info('migrated', { migration: name });
    await loadOwnPepper(config);
    return server;
  });
}
