import { Counter, Gauge, Registry } from 'prom-client';
import { readChainId } from '../platform/chain/reads.ts';
import { RpcFailure } from '../platform/chain/rpc.ts';
import { domainSeparatorOf } from '../platform/chain/shapes.ts';
import { readDomainSeparator } from '../platform/chain/usdc.ts';
import { startMetricsServer } from '../platform/metrics-server.ts';
import { cooldownSeconds } from './budget/gas-budget.ts';
import type { Context } from './context.ts';
import { readEther } from './outcomes.ts';

interface Sample {
  labels?: Record<string, string>;
  value: number | bigint;
}

interface Metric {
  kind: 'counter' | 'gauge';
  name: string;
  /** Deprecated name, still served for one version. */
  before?: string;
  help: string;
  labels?: string[];
  read(): Sample[];
}

/** Serves metrics on a separate port, if configured. The values are computed on request, so they do not slow down settlements. */
export async function createMetrics(
  context: Context,
  { host, port }: { host: string; port: number },
): Promise<{ port: number; close(): Promise<void> }> {
  if (port === 0) return { port: 0, close: async () => {} };
  const registry = new Registry();
  for (const metric of [...counterMetrics(context), ...gaugeMetrics(context)]) registerMetric(registry, metric);
  const read = async () => ({ type: registry.contentType, body: await registry.metrics() });
  return startMetricsServer({ host, port, path: '/metrics', read, log: context.log });
}

function registerMetric(registry: Registry, { before, ...shown }: Metric): void {
  addMetric(registry, shown);
  if (before === undefined) return;
  addMetric(registry, { ...shown, name: before, help: `${shown.help} (deprecated: use ${PREFIX}${shown.name})` });
}

const PREFIX = 'openaisle_facilitator_';

function addMetric(registry: Registry, { kind, name, help, labels = [], read }: Metric): void {
  const Kind = kind === 'counter' ? Counter : Gauge;
  const metric: Counter | Gauge = new Kind({
    name: `${PREFIX}${name}`,
    help,
    labelNames: labels,
    registers: [registry],
    collect() {
      metric.reset();
      for (const sample of read()) metric.inc(sample.labels ?? {}, Number(sample.value));
    },
  });
}

function counterMetrics({ counts, journal }: Context): Metric[] {
  const counter = (name: string, help: string, value: () => number | bigint): Metric => {
    return { kind: 'counter', name, help, read: () => [{ value: value() }] };
  };
  const byName = (name: string, help: string, label: string, map: ReadonlyMap<string, number>): Metric => {
    const read = (): Sample[] => [...map].map(([key, value]) => ({ labels: { [label]: key }, value }));
    return { kind: 'counter', name, help, labels: [label], read };
  };
  return [
    byName('settlements_total', 'Settlements that ended, by how', 'state', counts.ended),
    byName('reverts_total', 'Settlements that were mined and failed, by cause', 'cause', counts.causes),
    byName('deferred_total', 'Settlements that were put off, by reason', 'reason', counts.deferred),
    { ...counter('payer_cooldowns_total', 'Cooldowns after a revert', () => counts.cooldowns), before: 'rests_total' },
    counter('gas_used_total', 'Gas of mined transactions', () => counts.gasUsed),
    counter('gas_paid_units_total', 'What it cost, in millionths of a USDC', () => counts.gasPaidUnits),
    counter('replacements_total', 'Stuck transactions sent again at a higher price', () => counts.replacements),
    {
      ...counter('nonces_filled_total', 'Nonces of expired authorizations that were filled', () => counts.fills),
      before: 'fills_total',
    },
    counter(
      'displaced_resent_total',
      'Settlements sent once more, as another transaction took their place',
      () => counts.resent,
    ),
    counter('journal_appends_total', 'What was written to the journal', () => journal.stats().appends),
    counter('journal_fsyncs_total', 'How often the disk was waited for', () => journal.stats().syncs),
  ];
}

function gaugeMetrics({ journal, budget, payerQueue, clock }: Context): Metric[] {
  const gauge = (name: string, help: string, value: () => number): Metric => {
    return { kind: 'gauge', name, help, read: () => [{ value: value() }] };
  };
  const pools = (name: string, help: string, pick: 'used' | 'limit'): Metric => {
    const read = (): Sample[] =>
      budget.levels().map(({ pool, window, ...level }) => ({ labels: { pool, window }, value: level[pick] }));
    return { kind: 'gauge', name, help, labels: ['pool', 'window'], read };
  };
  const coolingDown = (): number =>
    [...journal.cooldowns().values()].filter((cooldown) => cooldownSeconds(cooldown, clock.now()) > 0).length;
  const oldest = (): number => {
    const signed = journal.openEntries().map(({ transactions: [first] }) => first?.signedAt ?? clock.now());
    return signed.length === 0 ? 0 : (clock.now() - Math.min(...signed)) / 1000;
  };
  return [
    gauge('journal_entries', 'Authorizations in the journal', () => journal.stats().entries),
    gauge('in_flight', 'Settlements signed and not mined', () => journal.openEntries().length),
    gauge('oldest_in_flight_seconds', 'How long ago the oldest of them was signed', oldest),
    {
      ...gauge('settlements_queued', 'Settlements that wait for another of their payer', () =>
        payerQueue.waitingCount(),
      ),
      before: 'waiting',
    },
    { ...gauge('payers_in_cooldown', 'Payers in a cooldown after a revert', coolingDown), before: 'resting_payers' },
    pools('gas_loss_units', 'Gas lost in a window, in millionths of a USDC', 'used'),
    pools('gas_loss_limit_units', 'How much may be lost there', 'limit'),
  ];
}

export interface Health {
  ready: boolean;
  chain: 'ok' | 'unreachable' | 'wrong_chain' | 'wrong_token';
  signer_balance: 'ok' | 'low' | 'unknown';
  /** Settlements that were signed but not mined for longer than a block should take. */
  stuck_settlements: number;
}

const STUCK_MS = 60_000;

/** Returns null if the error shows that the contract is not USDC (malformed answer or revert). Rethrows any other error. */
function nullIfNoToken(error: unknown): null {
  const isNoToken =
    error instanceof RpcFailure &&
    (error.kind === 'malformed' || (error.kind === 'error' && /revert/i.test(error.message)));
  if (isNoToken) return null;
  throw error;
}

/** Checks that settlements can work now: the right chain and token, enough gas, and no stuck transaction. */
export async function checkChain(context: Context, balanceFloorWei: bigint): Promise<Health> {
  const { rpc, network, domain, address, journal, clock } = context;
  const stuck = journal
    .openEntries()
    .filter(({ transactions: [first] }) => (first?.signedAt ?? 0) + STUCK_MS < clock.now()).length;
  const health = (chain: Health['chain'], balance: Health['signer_balance']): Health => ({
    ready: chain === 'ok' && balance === 'ok' && stuck === 0,
    chain,
    signer_balance: balance,
    stuck_settlements: stuck,
  });
  try {
    const [chainId, balance] = await Promise.all([readChainId(rpc), readEther(rpc, address)]);
    if (chainId !== network.chainId) return health('wrong_chain', 'unknown');
    const enough = balance >= balanceFloorWei ? 'ok' : 'low';
    const separator = await readDomainSeparator(rpc, network.usdc).catch(nullIfNoToken);
    return health(separator === domainSeparatorOf(domain) ? 'ok' : 'wrong_token', enough);
  } catch {
    return health('unreachable', 'unknown');
  }
}
