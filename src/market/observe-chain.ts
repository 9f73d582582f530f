import type { Registry } from 'prom-client';
import { logSpanOf } from '../platform/chain/log-span.ts';
import type { ProviderHealth } from '../platform/chain/providers.ts';
import type { Clock } from '../platform/clock.ts';
import type { Payments } from './payments/payments.ts';
import { registerCounter, registerGauge, type Sample, samplesByLabel, singleSample } from './register-metric.ts';

interface ProviderFacts {
  /** Position in the configuration. Distinguishes providers of one vendor, whose `endpoint` without credentials may be the same. */
  number: number;
  endpoint: string;
  answeredAgeSeconds: number | null;
  headNumber: number | null;
  headAgeSeconds: number | null;
  /** Number of failures by kind. */
  failures: Readonly<Record<string, number>>;
  traffic: { requests: number; bytes: Readonly<Record<string, number>>; calls: Readonly<Record<string, number>> };
  disagreements: number;
  excluded: boolean;
  /** Most blocks in one log query. Halved after the provider refuses a larger span, and doubled again some minutes later. */
  logSpanBlocks: number;
}

interface BlockFacts {
  number: number;
  ageSeconds: number;
}

export interface ChainFacts {
  providers: readonly ProviderFacts[];
  /** Block that this process last accepted as final. Null if there is none yet. */
  finalized: BlockFacts | null;
  /** Highest block that any process ever accepted as final. */
  watermark: BlockFacts | null;
  halted: boolean;
  /** Number of payments that are undecided because another provider does not confirm them or the token behaves oddly, by reason. */
  withheld: Readonly<Record<string, number>>;
  /** Number of open payments that this process could not read at its last attempt, within the last minute. */
  unreadable: number;
}

/** Facts that only the leader reports, for all processes. */
export interface PaymentsFacts {
  open: readonly { path: string; status: string; count: number; oldestSeconds: number }[];
  reviews: number;
  pass: { tookSeconds: number; ageSeconds: number } | null;
}

const PROVIDER_LABELS = ['provider', 'endpoint'];

export function observeChain(registry: Registry, read: () => ChainFacts): void {
  observeProviders(registry, read);
  countProviders(registry, read);
  registerGauge(registry, {
    name: 'openaisle_payments_blocked',
    formerName: 'openaisle_payments_held',
    help: 'Payments that wait for another provider to confirm, by reason',
    labelNames: ['why'],
    read: () => samplesByLabel('why', read().withheld),
  });
  const gauge = (name: string, help: string, pick: (facts: ChainFacts) => number | undefined): void =>
    registerGauge(registry, { name, help, read: () => singleSample(pick(read())) });
  gauge(
    'openaisle_payments_unreadable',
    'Open payments whose transfers cannot be read from the chain, usually because log queries fail',
    ({ unreadable }) => unreadable,
  );
  gauge('openaisle_chain_finalized_number', 'Newest block accepted as final', ({ finalized }) => finalized?.number);
  gauge(
    'openaisle_chain_finalized_age_seconds',
    'Age of the newest block accepted as final',
    ({ finalized }) => finalized?.ageSeconds,
  );
  gauge(
    'openaisle_chain_watermark_number',
    'Highest block ever accepted as final',
    ({ watermark }) => watermark?.number,
  );
  gauge('openaisle_payments_halted', 'Whether payments are halted until an operator resumes them', ({ halted }) =>
    halted ? 1 : 0,
  );
}

function observeProviders(registry: Registry, read: () => ChainFacts): void {
  const gauge = (
    name: string,
    help: string,
    pick: (facts: ProviderFacts) => number | null,
    formerName?: string,
  ): void =>
    registerGauge(registry, {
      ...{ name, help, labelNames: PROVIDER_LABELS },
      ...(formerName === undefined ? {} : { formerName }),
      read: () =>
        read().providers.flatMap((facts) => {
          const value = pick(facts);
          return value === null ? [] : [{ labels: labelsOf(facts), value }];
        }),
    });
  gauge(
    'openaisle_provider_answer_age_seconds',
    'How long ago a provider last answered',
    (facts) => facts.answeredAgeSeconds,
  );
  gauge('openaisle_provider_head_number', 'The newest block that a provider has reported', (facts) => facts.headNumber);
  gauge(
    'openaisle_provider_head_age_seconds',
    'Age of the newest block that a provider has reported',
    (facts) => facts.headAgeSeconds,
  );
  gauge(
    'openaisle_provider_excluded',
    'Whether payments are decided without this provider, because it is silent or behind',
    (facts) => (facts.excluded ? 1 : 0),
    'openaisle_provider_left_out',
  );
  gauge(
    'openaisle_provider_log_span_blocks',
    'Most blocks that a provider accepts in one log query',
    (facts) => facts.logSpanBlocks,
  );
}

function countProviders(registry: Registry, read: () => ChainFacts): void {
  const counter = (name: string, help: string, pick: (facts: ProviderFacts) => number): void =>
    registerCounter(registry, {
      ...{ name, help, labelNames: PROVIDER_LABELS },
      read: () => read().providers.map((facts) => ({ labels: labelsOf(facts), value: pick(facts) })),
    });
  const counterBy = (
    label: string,
    name: string,
    help: string,
    pick: (facts: ProviderFacts) => Readonly<Record<string, number>>,
  ): void =>
    registerCounter(registry, {
      ...{ name, help, labelNames: [...PROVIDER_LABELS, label] },
      read: () =>
        read().providers.flatMap((facts) =>
          samplesByLabel(label, pick(facts)).map(({ labels, value }) => ({
            labels: { ...labelsOf(facts), ...labels },
            value,
          })),
        ),
    });
  counterBy(
    'kind',
    'openaisle_provider_errors_total',
    'Failed calls to a provider, by kind',
    (facts) => facts.failures,
  );
  counter(
    'openaisle_provider_requests_total',
    'HTTP requests to a provider: each carries one or more calls',
    (facts) => facts.traffic.requests,
  );
  counterBy(
    'method',
    'openaisle_provider_calls_total',
    'Calls to a provider, by method',
    (facts) => facts.traffic.calls,
  );
  counterBy(
    'direction',
    'openaisle_provider_bytes_total',
    'Bytes of the bodies sent to a provider and received from it',
    (facts) => facts.traffic.bytes,
  );
  counter(
    'openaisle_provider_disagreements_total',
    'Payments about which a provider disagreed with the leading one',
    (facts) => facts.disagreements,
  );
}

function labelsOf({ number, endpoint }: ProviderFacts): Sample['labels'] {
  return { provider: number.toString(), endpoint };
}

export function observePayments(registry: Registry, read: () => PaymentsFacts | null): void {
  const ifLeader = (samples: (facts: PaymentsFacts) => Sample[]) => (): Sample[] => {
    const facts = read();
    return facts === null ? [] : samples(facts);
  };
  const open = (value: (one: PaymentsFacts['open'][number]) => number) =>
    ifLeader((facts) =>
      facts.open.map((one) => ({ labels: { path: one.path, status: one.status }, value: value(one) })),
    );
  const labelNames = ['path', 'status'];
  registerGauge(registry, {
    name: 'openaisle_payments_open',
    help: 'Undecided payments',
    labelNames,
    read: open(({ count }) => count),
  });
  registerGauge(registry, {
    name: 'openaisle_payments_oldest_seconds',
    help: 'Age of the oldest undecided payment',
    labelNames,
    read: open(({ oldestSeconds }) => oldestSeconds),
  });
  registerGauge(registry, {
    name: 'openaisle_reviews_pending',
    formerName: 'openaisle_reviews_undecided',
    help: 'Payments that wait for a person to decide',
    read: ifLeader(({ reviews }) => singleSample(reviews)),
  });
  registerGauge(registry, {
    name: 'openaisle_reconcile_seconds',
    help: 'Duration of the last check of all open payments',
    read: ifLeader(({ pass }) => singleSample(pass?.tookSeconds)),
  });
  registerGauge(registry, {
    name: 'openaisle_reconcile_age_seconds',
    help: 'Time since the last check of all open payments ended',
    read: ifLeader(({ pass }) => singleSample(pass?.ageSeconds)),
  });
}

/** Counts requests without an x402 offer, by reason. */
export function observeX402Refusals(registry: Registry, read: () => ReadonlyMap<string, number>): void {
  registerCounter(registry, {
    name: 'openaisle_x402_not_offered_total',
    help: 'Requests to which x402 was not offered',
    labelNames: ['why'],
    read: () => samplesByLabel('why', Object.fromEntries(read())),
  });
}

/** Collects the chain's facts from memory, without a call to a provider. */
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
  const { answeredAt, failures } = provider.counters();
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
    excluded: wasExcused || health.exclusionReason(best) !== null,
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
