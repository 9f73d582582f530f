import type { ProviderHealth } from '../platform/chain/providers.ts';
import type { Clock } from '../platform/clock.ts';
import type { ChainFacts, PaymentsFacts, ProviderFacts } from './metrics/observe-chain.ts';
import type { Payments } from './payments/payments.ts';

/** What the metrics tell of the chain, without asking anybody. */
export function chainFacts({ providerHealth, watch, held }: Payments, clock: Clock): ChainFacts {
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
    held: held.counts(),
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
    leftOut: wasExcused || health.leftOut(best) !== null,
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
