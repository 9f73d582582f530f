import { fileURLToPath } from 'node:url';
import { API_VERSION } from '../../contract/vocabulary.ts';
import { RpcFailure } from '../../platform/chain/rpc.ts';
import { isoTime } from '../../platform/clock.ts';
import { isUnavailable, whyUnavailable } from '../../platform/database/database-error.ts';
import { migrationsSuffice } from '../../platform/database/migrate.ts';
import type { WriteProbe } from '../../platform/database/write-probe.ts';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Market } from '../context.ts';
import { oldestUnnumberedMs } from '../events/store.ts';
import type { ChainHead } from '../payments/chain/read-head.ts';
import { findChainState } from '../payments/chain/store.ts';
import type { Payments } from '../payments/payments.ts';
import type { MarketHistory } from '../recovery/guard-history.ts';
import { readChainStatus } from './store.ts';

/** Short, so that a probe does not time out and report the process dead because the chain is slow. */
const CHAIN_TIMEOUT_MS = 1_000;

/** The catalog counts as behind above this lag, which is many times the duration of one update. */
const CATALOG_BEHIND_SECONDS = 5;

const MIGRATIONS = fileURLToPath(new URL('../../../migrations/market', import.meta.url));

export interface HealthSources {
  payments: Pick<Payments, 'readHead' | 'providerHealth' | 'watch' | 'withheld' | 'unreadable'>;
  catalog: Pick<Catalog, 'facts'>;
  history: Pick<MarketHistory, 'isLost' | 'status'>;
  writes: WriteProbe;
}

/** Reports that the process answers. Ignores the database, because its absence is no reason to restart the process. */
export function answerHealthz(): PageAnswer {
  return answerJson(200, { status: 'ok', api_version: API_VERSION });
}

/**
 * Reports whether this process can answer reads, which come from memory, so this probe asks neither database nor chain. Load balancers
 * should use it: with /readyz they would have no host left while a shared database is down.
 */
export function answerReadsReadyz(catalog: Pick<Catalog, 'facts'>): PageAnswer {
  const { feedLagSeconds, loadSeconds } = catalog.facts();
  if (loadSeconds.shelves === null) return answerJson(503, { status: 'not_ready', reads: 'preparing' });
  const age = { catalog_age_seconds: Math.floor(feedLagSeconds) };
  return answerJson(200, { status: 'ready', reads: 'answered', ...catalogStatus(catalog), ...age });
}

/** Reports whether this process can read and write. Halted payments never make it unready; lost history does if `strict`. */
export async function answerReadyz(
  market: Market,
  { payments, catalog, history, writes }: HealthSources,
  strict = false,
): Promise<PageAnswer> {
  try {
    const complete = await migrationsSuffice(market.database, MIGRATIONS);
    if (!complete) return answerJson(503, { status: 'not_ready', database: 'reachable', migrations: 'incomplete' });
    const database = { database: 'reachable', migrations: 'complete' };
    const why = await writes.check();
    if (why !== null) return answerJson(503, { status: 'not_ready', ...database, writes: 'refused', why });
    return answerJson(strict && history.isLost() ? 503 : 200, {
      status: 'ready',
      ...database,
      writes: 'accepted',
      ...history.status(),
      ...(await paymentsStatus(market, payments)),
      providers: providersStatus(market, payments),
      payments_held: payments.withheld.counts(),
      payments_unreadable: payments.unreadable.count(),
      contract_wallets: payments.watch.contractWallets(),
      ...(await chainStatus(market)),
      ...catalogStatus(catalog),
    });
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    const why = whyUnavailable(error);
    return answerJson(503, { status: 'not_ready', database: 'unreachable', ...(why === null ? {} : { why }) });
  }
}

/** `why` names a halt that an operator must lift, a failed check of the finalized head, or logs of open payments that cannot be read. */
async function paymentsStatus(market: Market, payments: HealthSources['payments']) {
  const { halt } = await findChainState(market.database, market.config.network.chainId);
  const { head, why } = await readHeadInTime(market, payments.readHead);
  const finalized = head?.finalized ?? null;
  const finality =
    finalized === null ? null : describeBlock(market, finalized.number, Number(finalized.timestamp) * 1_000);
  if (halt !== null) {
    return { payments: 'halted', why: halt.reason, halted_at: isoTime(halt.haltedAt), detail: halt.detail, finality };
  }
  if (why !== null) return { payments: 'halted', why, finality };
  if (payments.unreadable.isFailing()) return { payments: 'halted', why: 'logs_unreadable', finality };
  return { payments: 'open', finality };
}

/** Gives up after CHAIN_TIMEOUT_MS. While the finalized head cannot be read or is not trusted, nothing is delivered. */
async function readHeadInTime(
  market: Market,
  readHead: () => Promise<ChainHead>,
): Promise<{ head: ChainHead | null; why: string | null }> {
  const giveUp = new AbortController();
  try {
    const timeout = market.clock.sleep(CHAIN_TIMEOUT_MS, giveUp.signal).then(() => null);
    const head = await Promise.race([readHead(), timeout]);
    return head === null ? { head, why: 'chain_slow' } : { head, why: head.why };
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return { head: null, why: 'chain_unreadable' };
  } finally {
    giveUp.abort();
  }
}

/** Identifies providers by their position in the configuration, so that the answer does not reveal whose nodes they are. */
function providersStatus({ clock }: Market, { providerHealth }: HealthSources['payments']) {
  return providerHealth.all.map((health) => {
    const { provider } = health;
    const { answeredAt } = provider.counters();
    const { head } = health.facts();
    return {
      provider: provider.number,
      head_number: head === null ? null : Number(head.number),
      head_age_seconds: head === null ? null : Math.floor(head.ageMs / 1_000),
      answer_age_seconds: answeredAt === null ? null : Math.floor((clock.now() - answeredAt) / 1_000),
      left_out: health.exclusionReason(providerHealth.best()),
    };
  });
}

/** Describes the catalog in memory, which is served even while it cannot be updated. */
function catalogStatus(catalog: Pick<Catalog, 'facts'>) {
  const { feedLagSeconds, loadSeconds } = catalog.facts();
  return {
    catalog: feedLagSeconds > CATALOG_BEHIND_SECONDS ? 'behind' : 'current',
    search: loadSeconds.text === null ? 'preparing' : 'ready',
  };
}

/**
 * Tells whether the facilitator publishes its signers. If it publishes none, the market does not apply the rule that only the payer may
 * collect the goods for a transfer that a stranger submitted.
 */
function signersStatus(published: number | null): string {
  if (published === null) return 'unknown';
  return published > 0 ? 'published' : 'not_published';
}

async function chainStatus(market: Market) {
  const { database, config } = market;
  const { published, block_number, block_time } = await readChainStatus(
    database,
    config.network.chainId,
    config.facilitatorUrl,
  );
  return {
    facilitator_signers: signersStatus(published),
    finalized_watermark:
      block_number === null || block_time === null ? null : describeBlock(market, block_number, block_time.getTime()),
    oldest_unnumbered_event_ms: await oldestUnnumberedMs(database),
  };
}

function describeBlock({ clock }: Pick<Market, 'clock'>, number: bigint, timeMs: number) {
  return { block_number: Number(number), age_seconds: Math.floor((clock.now() - timeMs) / 1_000) };
}

function answerJson(status: number, body: Readonly<Record<string, unknown>>): PageAnswer {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(body) };
}
