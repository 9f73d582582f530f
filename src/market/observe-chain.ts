import { Counter, Gauge, type Registry } from 'prom-client';
import { logSpanOf } from '../platform/chain/log-span.ts';
import type { ProviderHealth } from '../platform/chain/providers.ts';
import type { Clock } from '../platform/clock.ts';
import type { Payments } from './payments/payments.ts';

/** How one provider serves. */
interface ProviderFacts {
  /** Its place in the configuration: two of one vendor have the same `endpoint`, which carries no credentials. */
  number: number;
  endpoint: string;
  answeredAgeSeconds: number | null;
  headNumber: number | null;
  headAgeSeconds: number | null;
  /** By kind. */
  failures: Readonly<Record<string, number>>;
  traffic: { requests: number; bytes: Readonly<Record<string, number>>; calls: Readonly<Record<string, number>> };
  disagreements: number;
  leftOut: boolean;
  /** How many blocks it takes in one log query, as far as it has refused more. */
  logSpanBlocks: number;
}

interface BlockFacts {
  number: number;
  ageSeconds: number;
}

export interface ChainFacts {
  providers: readonly ProviderFacts[];
  /** What this process last accepted as final; null while nothing is. */
  finalized: BlockFacts | null;
  /** The highest that any process ever accepted. */
  watermark: BlockFacts | null;
  halted: boolean;
  /** Payments whose decision waits for other providers, by what for. */
  withheld: Readonly<Record<string, number>>;
  /** Open payments that could not be read when this process last asked about them. */
  unreadable: number;
}

/** What one process tells for all of them; null in the others. */
export interface PaymentsFacts {
  open: readonly { path: string; status: string; count: number; oldestSeconds: number }[];
  reviews: number;
  pass: { tookSeconds: number; ageSeconds: number } | null;
}

type Labels = Readonly<Record<string, string>>;
type Sample = { labels: Labels; value: number };

/** Takes the place of what was told under that name before. What is not known is not told. */
function registerMetric(
  registry: Registry,
  kind: 'gauge' | 'counter',
  name: string,
  help: string,
  read: () => Sample[],
): void {
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
        // Without labels a reset would report 0 for an unknown value.
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

/** Shows a metric under its name of the version before, too, for one version. `note` is the end of the help text. */
export function renamed(name: string, before: string, observe: (name: string, note: string) => void): void {
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
    registerMetric(registry, 'gauge', name, help, samples);
  gauge(
    'openaisle_provider_answer_age_seconds',
    'How long ago a provider last answered',
    each((facts) => facts.answeredAgeSeconds),
  );
  gauge(
    'openaisle_provider_head_number',
    'The latest block that a provider has shown',
    each((facts) => facts.headNumber),
  );
  gauge(
    'openaisle_provider_head_age_seconds',
    'The age of that block',
    each((facts) => facts.headAgeSeconds),
  );
  renamed('openaisle_provider_excluded', 'openaisle_provider_left_out', (name, note) =>
    gauge(
      name,
      `Whether payments are decided without a provider, for its silence or age${note}`,
      each((facts) => (facts.leftOut ? 1 : 0)),
    ),
  );
  gauge(
    'openaisle_provider_log_span_blocks',
    'How many blocks a provider takes in one log query, as far as it has refused more',
    each((facts) => facts.logSpanBlocks),
  );
  countProviders(registry, read);
  renamed('openaisle_payments_blocked', 'openaisle_payments_held', (name, note) =>
    gauge(name, `Payments that wait for the word of another provider, by why it is missing${note}`, () =>
      Object.entries(read().withheld).map(([why, value]) => ({ labels: { why }, value })),
    ),
  );
  gauge(
    'openaisle_payments_unreadable',
    'Open payments of which the chain cannot be read, as a rule for their logs',
    () => one(read().unreadable),
  );
  gauge('openaisle_chain_finalized_number', 'The block that is accepted as final', () => one(read().finalized?.number));
  gauge('openaisle_chain_finalized_age_seconds', 'The age of that block', () => one(read().finalized?.ageSeconds));
  gauge('openaisle_chain_watermark_number', 'The highest block that was ever accepted as final', () =>
    one(read().watermark?.number),
  );
  gauge('openaisle_payments_halted', 'Whether payments are halted until an operator resumes them', () =>
    one(read().halted ? 1 : 0),
  );
}

/** What each provider was asked, and how it failed. */
function countProviders(registry: Registry, read: () => ChainFacts): void {
  const each = (pick: (facts: ProviderFacts) => number) => (): Sample[] =>
    read().providers.map((facts) => ({ labels: labelsOf(facts), value: pick(facts) }));
  const counter = (name: string, help: string, samples: () => Sample[]): void =>
    registerMetric(registry, 'counter', name, help, samples);
  const by = (label: string, pick: (facts: ProviderFacts) => Readonly<Record<string, number>>) => (): Sample[] =>
    read().providers.flatMap((facts) =>
      Object.entries(pick(facts)).map(([name, value]) => ({ labels: { ...labelsOf(facts), [label]: name }, value })),
    );
  counter(
    'openaisle_provider_errors_total',
    'Calls that failed, by kind',
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
    'Payments of which a provider showed something else than the one that led',
    each((facts) => facts.disagreements),
  );
}

function labelsOf({ number, endpoint }: ProviderFacts): Labels {
  return { provider: number.toString(), endpoint };
}

export function observePayments(registry: Registry, read: () => PaymentsFacts | null): void {
  const gauge = (name: string, help: string, samples: (facts: PaymentsFacts) => Sample[]): void =>
    registerMetric(registry, 'gauge', name, help, () => {
      const facts = read();
      return facts === null ? [] : samples(facts);
    });
  gauge('openaisle_payments_open', 'Undecided payments', ({ open }) =>
    open.map(({ path, status, count }) => ({ labels: { path, status }, value: count })),
  );
  gauge('openaisle_payments_oldest_seconds', 'How long the oldest of them has been undecided', ({ open }) =>
    open.map(({ path, status, oldestSeconds }) => ({ labels: { path, status }, value: oldestSeconds })),
  );
  renamed('openaisle_reviews_pending', 'openaisle_reviews_undecided', (name, note) =>
    gauge(name, `Payments that wait for the decision of a person${note}`, ({ reviews }) => one(reviews)),
  );
  gauge('openaisle_reconcile_seconds', 'How long the last pass over all open payments took', ({ pass }) =>
    one(pass?.tookSeconds),
  );
  gauge('openaisle_reconcile_age_seconds', 'How long ago it ended', ({ pass }) => one(pass?.ageSeconds));
}

/** By why the facilitator would not settle. */
export function observeX402Refusals(registry: Registry, read: () => ReadonlyMap<string, number>): void {
  registerMetric(
    registry,
    'counter',
    'openaisle_x402_not_offered_total',
    'Requests to which x402 was not offered',
    () => [...read()].map(([why, value]) => ({ labels: { why }, value })),
  );
}

/** What the metrics tell of the chain, without asking anybody. */
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
    leftOut: wasExcused || health.exclusionReason(best) !== null,
    logSpanBlocks: Number(logSpanOf(provider)),
  };
}

/** Null in a process that does not look after the payments. */
export function paymentsFacts({ facts, reconciler }: Payments, clock: Clock): PaymentsFacts | null {
  const known = reconciler.isLeader() ? facts.facts() : null;
  if (known === null) return null;
  const now = clock.now();
  return {
    open: known.open.map(({ path, status, count, oldest }) => ({
      path,
      status,
      count,
      oldestSeconds: (now - oldest.getTime()) / 1_000,
    })),
    reviews: known.reviews,
    pass: known.pass && { tookSeconds: known.pass.tookMs / 1_000, ageSeconds: (now - known.pass.endedAt) / 1_000 },
  };
}
