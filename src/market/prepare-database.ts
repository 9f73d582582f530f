import { fileURLToPath } from 'node:url';
import { RightsMissing } from '../platform/database/applied-migrations.ts';
import type { OnProgress } from '../platform/database/apply-migration.ts';
import { logProgress, migrate } from '../platform/database/migrate.ts';
import { type ResolvedDatabase, resolveDatabase } from '../platform/database/resolve-database.ts';
import type { Log } from '../platform/log.ts';
import { isLoopback } from '../platform/loopback.ts';
import { loadOwnPepper } from '../platform/pepper.ts';
import { undoOnFailure } from '../platform/shutdown.ts';
import type { MarketConfig } from './context.ts';

/** Warns of settings that expose the market in ways the operator may not intend. */
export function warnOfExposure(
  { baseUrl, trustProxy, host, metricsPort }: Pick<MarketConfig, 'baseUrl' | 'trustProxy' | 'host' | 'metricsPort'>,
  log: Log,
): void {
  if (trustProxy === false && !isLoopback(new URL(baseUrl).hostname)) {
    log.warn('public_without_trusted_proxy', {
      detail:
        'OPENAISLE_BASE_URL is public, but OPENAISLE_TRUST_PROXY is off. Behind a proxy, all clients would count as one. Set OPENAISLE_TRUST_PROXY to the proxy.',
    });
  }
  if (metricsPort !== 0 && !isLoopback(host)) {
    log.warn('metrics_reachable', {
      detail:
        'OPENAISLE_HOST is not a loopback address, so everybody who reaches it can read the metrics port too. Block that port from outside.',
    });
  }
}

export const MIGRATIONS = fileURLToPath(new URL('../../migrations/market', import.meta.url));

/**
 * Applies pending migrations, then the statements in `rights`, and returns the migrations' names. If the role may not do this, the error
 * gives the command for the owner.
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

/** Prepares database, tables and pepper for all web processes. Runs once, in the first process, and cleans up if it fails. */
export function prepareDatabase(config: MarketConfig, log: Log): Promise<ResolvedDatabase> {
  warnOfExposure(config, log);
  return undoOnFailure(async (begun) => {
    const server = await resolveDatabase(config, log);
    begun.defer(() => server.stop());
    const applied = await migrateMarket(server.url, logProgress(log));
    for (const name of applied) log.info('migrated', { migration: name });
    await loadOwnPepper(config);
    return server;
  });
}
