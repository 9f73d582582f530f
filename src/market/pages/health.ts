import { fileURLToPath } from 'node:url';
import { API_VERSION } from '../../contract/vocabulary.ts';
import { RpcFailure } from '../../platform/chain/rpc.ts';
import { isUnavailable } from '../../platform/database/database-error.ts';
import { migrationsComplete } from '../../platform/database/migrate.ts';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Market } from '../context.ts';
import { oldestUnnumberedMs } from '../events/store.ts';
import type { ChainHead } from '../payments/head/read-head.ts';
import { readChainStanding } from './store.ts';

/** A probe must not wait for the chain, and be taken for a dead process. */
const CHAIN_PATIENCE_MS = 1_000;

/** Many times what a step takes. */
const CATALOG_BEHIND_SECONDS = 5;

const MIGRATIONS = fileURLToPath(new URL('../../../migrations/market', import.meta.url));

/** The process answers. Nothing else is looked at: a database that is away is no reason to start another process. */
export function healthz(): PageAnswer {
  return answer(200, { status: 'ok', api_version: API_VERSION });
}

/** Whether this process can serve reads. Payments that wait for the chain do not take the reads away. */
export async function readyz(
  market: Market,
  { readHead, catalog }: { readHead(): Promise<ChainHead>; catalog: Pick<Catalog, 'facts'> },
): Promise<PageAnswer> {
  try {
    const complete = await migrationsComplete(market.database, MIGRATIONS);
    if (!complete) return answer(503, { status: 'not_ready', database: 'reachable', migrations: 'incomplete' });
    return answer(200, {
      status: 'ready',
      database: 'reachable',
      migrations: 'complete',
      ...(await readPayments(market, readHead)),
      ...(await readStanding(market)),
      ...catalogStanding(catalog),
    });
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    return answer(503, { status: 'not_ready', database: 'unreachable' });
  }
}

/** While the finalized head cannot be read, or is not believed, nothing is delivered; `why` names the check that it failed. */
async function readPayments(market: Market, readHead: () => Promise<ChainHead>) {
  const giveUp = new AbortController();
  try {
    const late = market.clock.sleep(CHAIN_PATIENCE_MS, giveUp.signal).then(() => null);
    const head = await Promise.race([readHead(), late]);
    if (head === null) return { payments: 'halted', why: 'chain_slow' };
    return head.finalized === null ? { payments: 'halted', why: head.why } : { payments: 'open' };
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return { payments: 'halted', why: 'chain_unreadable' };
  } finally {
    giveUp.abort();
  }
}

/** Shelves are served from what is known, also while nothing new can be read. */
function catalogStanding(catalog: Pick<Catalog, 'facts'>) {
  const { feedLagSeconds, loadSeconds } = catalog.facts();
  return {
    catalog: feedLagSeconds > CATALOG_BEHIND_SECONDS ? 'behind' : 'current',
    search: loadSeconds.text === null ? 'preparing' : 'ready',
  };
}

/** With none published, the rule that a stranger's settlement is collected by the payer alone is off (W7). */
function signersStanding(published: number | null): string {
  if (published === null) return 'unknown';
  return published > 0 ? 'published' : 'not_published';
}

async function readStanding({ database, config, clock }: Market) {
  const { published, block_number, block_time } = await readChainStanding(
    database,
    config.network.chainId,
    config.facilitatorUrl,
  );
  return {
    facilitator_signers: signersStanding(published),
    finalized_watermark:
      block_number === null || block_time === null
        ? null
        : { block_number: Number(block_number), age_seconds: Math.floor((clock.now() - block_time.getTime()) / 1_000) },
    oldest_unnumbered_event_ms: await oldestUnnumberedMs(database),
  };
}

function answer(status: number, body: Readonly<Record<string, unknown>>): PageAnswer {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(body) };
}
