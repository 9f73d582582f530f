import { Counter, Gauge, type Registry } from 'prom-client';
import { logSpanOf } from '../platform/chain/log-span.ts';
import type { ProviderHealth } from '../platform/chain/providers.ts';
import type { Clock } from '../platform/clock.ts';
import type { Payments } from './payments/payments.ts';

interface ProviderFacts {
  /** Position in the configuration: two providers of one vendor have the same `endpoint`, which holds no credentials. */
  number: number;
  endpoint: string;
  answeredAgeSeconds: number | null;
  headNumber: number | null;
  headAgeSeconds: number | null;
  /** Failures by kind. */
  failures: Readonly<Record<string, number>>;
  traffic: { requests: number; bytes: Readonly<Record<string, number>>; calls: Readonly<Record<string, number>> };
  disagreements: number;
  isExcluded: boolean;
  /** Most blocks per log query; lowered each time the provider refuses a larger span. */
  logSpanBlocks: number;
}

interface BlockFacts {
  number: number;
  ageSeconds: number;
}

export interface ChainFacts {
  providers: readonly ProviderFacts[];
  /** The block that this process last accepted as final; null if none yet. */
  finalized: BlockFacts | null;
  /** The highest block that any process ever accepted as final. */
  watermark: BlockFacts | null;
  halted: boolean;
  /** Payments whose decision waits for other providers, by reason. */
  withheld: Readonly<Record<string, number>>;
  /** Open payments that this process could not read at its last attempt. */
  unreadable: number;
}

/** Facts that only the leader reports, for all processes. */
export interface PaymentsFacts {
  open: readonly { path: string; status: string; count: number; oldestSeconds: number }[];
  reviews: number;
  pass: { tookSeconds: number; ageSeconds: number } | null;
}

type Labels = Readonly<Record<string, string>>;
type Sample = { labels: Labels; value: number };

interface Metric {
  name: string;
  help: string;
  read: () => Sample[];
}

/** Registers a metric, in place of an earlier one of that name. Unknown values have no sample. */
function registerMetric(registry: Registry, kind: 'gauge' | 'counter', { name, help, read }: Metric): void {
  registry.removeSingleMetric(name);
  const labelNames = LABELS[name] ?? [];
  const registers = [registry];
  if (kind === 'gauge') {
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        // Without labels, reset() would report 0 for an unknown value.
        if (labelNames.length === 0) this.remove();
        else this.reset();
        for (const { labels, value } of read()) this.set({ ...labels }, value);
      },
    });
    return;
  }
  new Counter({
    name,
    help,
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { labels, value } of read()) this.inc({ ...labels }, value);
    },
  });
}

const PROVIDER = ['provider', 'endpoint'];
const LABELS: Readonly<Record<string, string[]>> = {
  openaisle_provider_answer_age_seconds: PROVIDER,
  openaisle_provider_head_number: PROVIDER,
  openaisle_provider_head_age_seconds: PROVIDER,
  openaisle_provider_excluded: PROVIDER,
  openaisle_provider_left_out: PROVIDER,
  openaisle_provider_errors_total: [...PROVIDER, 'kind'],
  openaisle_provider_requests_total: PROVIDER,
  openaisle_provider_calls_total: [...PROVIDER, 'method'],
  openaisle_provider_bytes_total: [...PROVIDER, 'direction'],
  openaisle_provider_disagreements_total: PROVIDER,
  openaisle_provider_log_span_blocks: PROVIDER,
  openaisle_payments_blocked: ['why'],
  openaisle_payments_held: ['why'],
  openaisle_payments_open: ['path', 'status'],
  openaisle_payments_oldest_seconds: ['path', 'status'],
  openaisle_x402_not_offered_total: ['why'],
};

/** Registers a metric under its former name too, for one version. `note` ends the help text. */
export function withFormerName(name: string, before: string, observe: (name: string, note: string) => void): void {
  observe(name, '');
  observe(before, ` (deprecated: use ${name})`);
}

const NONE: Labels = {};
const one = (value: number | null | undefined): Sample[] =>
  value === null || value === undefined ? [] : [{ labels: NONE, value }];

export function observeChain(registry: Registry, read: () => ChainFacts): void {
  const each = (pick: (facts: ProviderFacts) => number | null) => (): Sample[] =>
    read().providers.flatMap((facts) => {
      const value = pick(facts);
      return value === null ? [] : [{ labels: labelsOf(facts), value }];
    });
  const gauge = (name: string, help: string, samples: () => Sample[]): void =>
    registerMetric(registry, 'gauge', { name, help, read: samples });
  gauge(
    'openaisle_provider_answer_age_seconds',
    'How long ago a provider last answered',
    each((facts) => facts.answeredAgeSeconds),
  );
  gauge(
    'openaisle_provider_head_number',
    'The newest block that a provider has reported',
    each((facts) => facts.headNumber),
  );
  gauge(
    'openaisle_provider_head_age_seconds',
    'Age of the newest block that a provider has reported',
    each((facts) => facts.headAgeSeconds),
  );
  withFormerName('openaisle_provider_excluded', 'openaisle_provider_left_out', (name, note) =>
    gauge(
      name,
      `Whether payments are decided without this provider, because it is silent or behind${note}`,
      each((facts) => (facts.isExcluded ? 1 : 0)),
    ),
  );
  gauge(
    'openaisle_provider_log_span_blocks',
    'Most blocks that a provider accepts in one log query',
    each((facts) => facts.logSpanBlocks),
  );
  countProviders(registry, read);
  withFormerName('openaisle_payments_blocked', 'openaisle_payments_held', (name, note) =>
    gauge(name, `Payments that wait for another provider to confirm, by reason${note}`, () =>
      Object.entries(read().withheld).map(([why, value]) => ({ labels: { why }, value })),
    ),
  );
  gauge(
    'openaisle_payments_unreadable',
    'Open payments whose transfers cannot be read from the chain, usually because log queries fail',
    () => one(read().unreadable),
  );
  gauge('openaisle_chain_finalized_number', 'Newest block accepted as final', () => one(read().finalized?.number));
  gauge('openaisle_chain_finalized_age_seconds', 'Age of the newest block accepted as final', () =>
    one(read().finalized?.ageSeconds),
  );
  gauge('openaisle_chain_watermark_number', 'Highest block ever accepted as final', () =>
    one(read().watermark?.number),
  );
  gauge('openaisle_payments_halted', 'Whether payments are halted until an operator resumes them', () =>
    one(read().halted ? 1 : 0),
  );
}

function countProviders(registry: Registry, read: () => ChainFacts): void {
  const each = (pick: (facts: ProviderFacts) => number) => (): Sample[] =>
    read().providers.map((facts) => ({ labels: labelsOf(facts), value: pick(facts) }));
  const counter = (name: string, help: string, samples: () => Sample[]): void =>
    registerMetric(registry, 'counter', { name, help, read: samples });
  const by = (label: string, pick: (facts: ProviderFacts) => Readonly<Record<string, number>>) => (): Sample[] =>
    read().providers.flatMap((facts) =>
      Object.entries(pick(facts)).map(([name, value]) => ({ labels: { ...labelsOf(facts), [label]: name }, value })),
    );
  counter(
    'openaisle_provider_errors_total',
    'Failed calls to a provider, by kind',
    by('kind', (facts) => facts.failures),
  );
  counter(
    'openaisle_provider_requests_total',
    'HTTP requests to a provider: each carries one or more calls',
    each((facts) => facts.traffic.requests),
  );
  counter(
    'openaisle_provider_calls_total',
    'Calls to a provider, by method',
    by('method', (facts) => facts.traffic.calls),
  );
  counter(
    'openaisle_provider_bytes_total',
    'Bytes of the bodies sent to a provider and received from it',
    by('direction', (facts) => facts.traffic.bytes),
  );
  counter(
    'openaisle_provider_disagreements_total',
    'Payments about which a provider disagreed with the leading one',
    each((facts) => facts.disagreements),
  );
}

function labelsOf({ number, endpoint }: ProviderFacts): Labels {
  return { provider: number.toString(), endpoint };
}

export function observePayments(registry: Registry, read: () => PaymentsFacts | null): void {
  const gauge = (name: string, help: string, samples: (facts: PaymentsFacts) => Sample[]): void =>
    registerMetric(registry, 'gauge', {
      name,
      help,
      read: () => {
        const facts = read();
        return facts === null ? [] : samples(facts);
      },
    });
  gauge('openaisle_payments_open', 'Undecided payments', ({ open }) =>
    open.map(({ path, status, count }) => ({ labels: { path, status }, value: count })),
  );
  gauge('openaisle_payments_oldest_seconds', 'Age of the oldest undecided payment', ({ open }) =>
    open.map(({ path, status, oldestSeconds }) => ({ labels: { path, status }, value: oldestSeconds })),
  );
  withFormerName('openaisle_reviews_pending', 'openaisle_reviews_undecided', (name, note) =>
    gauge(name, `Payments that wait for a person to decide${note}`, ({ reviews }) => one(reviews)),
  );
  gauge('openaisle_reconcile_seconds', 'Duration of the last check of all open payments', ({ pass }) =>
    one(pass?.tookSeconds),
  );
  gauge('openaisle_reconcile_age_seconds', 'Time since the last check of all open payments ended', ({ pass }) =>
    one(pass?.ageSeconds),
  );
}

/** Counts requests without an x402 offer, by reason. */
export function observeX402Refusals(registry: Registry, read: () => ReadonlyMap<string, number>): void {
  registerMetric(registry, 'counter', {
    name: 'openaisle_x402_not_offered_total',
    help: 'Requests to which x402 was not offered',
    read: () => [...read()].map(([why, value]) => ({ labels: { why }, value })),
  });
}

/** Collects the chain's facts from memory, without any call. */
export function chainFacts({ providerHealth, watch, withheld, unreadable }: Payments, clock: Clock): ChainFacts {
  const state = watch.state();
  const head = watch.head();
  const ageOf = (timestamp: bigint): number => clock.now() / 1_000 - Number(timestamp);
  const blockOf = (block: { number: bigint; timestamp: bigint } | null | undefined) =>
    block ? { number: Number(block.number), ageSeconds: ageOf(block.timestamp) } : null;
  return {
    providers: providerHealth.all.map((health) => providerFacts(health, providerHealth.best(), clock)),
    finalized: blockOf(head?.finalized),
    watermark: blockOf(state?.watermark),
    halted: state !== null && state.halt !== null,
    withheld: withheld.counts(),
    unreadable: unreadable.count(),
  };
}

function providerFacts(health: ProviderHealth, best: bigint, clock: Clock): ProviderFacts {
  const { provider } = health;
  const { answeredAt, failures } = provider.tally();
  const { head, disagreements, wasExcused } = health.facts();
  return {
    number: provider.number,
    endpoint: provider.endpoint,
    answeredAgeSeconds: answeredAt === null ? null : (clock.now() - answeredAt) / 1_000,
    headNumber: head === null ? null : Number(head.number),
    headAgeSeconds: head === null ? null : head.ageMs / 1_000,
    failures,
    traffic: provider.traffic(),
    disagreements,
    isExcluded: wasExcused || health.exclusionReason(best) !== null,
    logSpanBlocks: Number(logSpanOf(provider)),
  };
}

/** Returns null in processes that do not lead the payment job. */
export function paymentsFacts({ facts, reconciler }: Payments, clock: Clock): PaymentsFacts | null {
  const latest = reconciler.isLeader() ? facts.facts() : null;
  if (latest === null) return null;
  const now = clock.now();
  return {
    open: latest.open.map(({ path, status, count, oldest }) => ({
      path,
      status,
      count,
      oldestSeconds: (now - oldest.getTime()) / 1_000,
    })),
    reviews: latest.reviews,
    pass: latest.pass && { tookSeconds: latest.pass.tookMs / 1_000, ageSeconds: (now - latest.pass.endedAt) / 1_000 },
  };
}
