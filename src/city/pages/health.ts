import { API_VERSION } from '../../contract/vocabulary.ts';
import { isUnavailable, whyUnavailable } from '../../platform/database/database-error.ts';
import { migrationsSuffice } from '../../platform/database/migrate.ts';
import type { WriteProbe } from '../../platform/database/write-probe.ts';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import type { City } from '../context.ts';
import { MIGRATIONS } from '../migrations.ts';

export interface HealthSources {
  writes: WriteProbe;
  /** Whether this process looks after the offers. */
  sweeps(): boolean;
  /** Whether anything here would notice that the database went back. */
  memory(): 'kept' | 'none';
}

/** The process answers. Nothing else is looked at: a database that is away is no reason to start another process. */
export function healthz(): PageAnswer {
  return answer(200, { status: 'ok', api_version: API_VERSION });
}

/**
 * Whether this process can read and write. Payments that wait for the chain do not take that away, nor does a lost history: then only
 * who asks strictly is told 503.
 */
export async function readyz(
  { database, isLost }: Pick<City, 'database' | 'isLost'>,
  { writes, sweeps, memory }: HealthSources,
  strict = false,
): Promise<PageAnswer> {
  try {
    const complete = await migrationsSuffice(database, MIGRATIONS);
    if (!complete) return answer(503, { status: 'not_ready', database: 'reachable', migrations: 'incomplete' });
    const standing = { database: 'reachable', migrations: 'complete' };
    const why = await writes.look();
    if (why !== null) return answer(503, { status: 'not_ready', ...standing, writes: 'refused', why });
    const history = { history: isLost() ? 'lost' : 'whole', log_copy: memory() };
    const body = { status: 'ready', ...standing, writes: 'accepted', ...history, sweeps_offers: sweeps() };
    return answer(strict && isLost() ? 503 : 200, body);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    const why = whyUnavailable(error);
    return answer(503, { status: 'not_ready', database: 'unreachable', ...(why === null ? {} : { why }) });
  }
}

function answer(status: number, body: Readonly<Record<string, unknown>>): PageAnswer {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(body) };
}
