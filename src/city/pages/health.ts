import { API_VERSION } from '../../contract/vocabulary.ts';
import { isUnavailable } from '../../platform/database/database-error.ts';
import { migrationsSuffice } from '../../platform/database/migrate.ts';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import type { City } from '../context.ts';
import { MIGRATIONS } from '../migrations.ts';

/** The process answers. Nothing else is looked at: a database that is away is no reason to start another process. */
export function healthz(): PageAnswer {
  return answer(200, { status: 'ok', api_version: API_VERSION });
}

/** Whether this process can serve reads. Payments that wait for the chain do not take the reads away. */
export async function readyz({ database }: Pick<City, 'database'>, sweeps: () => boolean): Promise<PageAnswer> {
  try {
    const complete = await migrationsSuffice(database, MIGRATIONS);
    if (!complete) return answer(503, { status: 'not_ready', database: 'reachable', migrations: 'incomplete' });
    return answer(200, { status: 'ready', database: 'reachable', migrations: 'complete', sweeps_offers: sweeps() });
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    return answer(503, { status: 'not_ready', database: 'unreachable' });
  }
}

function answer(status: number, body: Readonly<Record<string, unknown>>): PageAnswer {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(body) };
}
