import { RpcFailure } from '../../platform/chain/rpc.ts';
import { createPasses } from '../../platform/create-passes.ts';
import type { Market } from '../context.ts';
import type { Evidence } from './paths/x402/decide.ts';
import { type ClaimReading, gatherClaims } from './paths/direct/gather-claims.ts';
import { gatherEvidence } from './paths/x402/gather-evidence.ts';
import type { FollowedHead } from './head/follow-heads.ts';
import type { DirectPayment, Payment, X402Payment } from './payment.ts';
import type { SecondOpinions } from './providers/ask-others.ts';

/** A payment, and what the chain shows of it. */
export type Shown =
  | { path: 'x402'; payment: X402Payment; evidence: Evidence }
  | { path: 'direct'; payment: DirectPayment; reading: ClaimReading };

export interface PaymentReader {
  /** Of one payment: all that are asked for at the same time share a reading. Undefined where it cannot be read, or has not changed. */
  readOne(payment: Payment): Promise<Shown | undefined>;
  /** By payment; without those that cannot be read, or have not changed. */
  readMany(payments: readonly Payment[], head: FollowedHead): Promise<Map<bigint, Shown>>;
}

interface Needs {
  market: Market;
  readHead(): Promise<FollowedHead>;
  opinions: SecondOpinions;
}

/** So many readings a second for live requests: under load more payments share each, and the provider is asked no more often. */
const READING_EVERY_MS = 25;
const READINGS_AT_ONCE = 4;

/** Reads the chain about payments. The heads and the logs cost the same for one payment as for a hundred. */
export function createPaymentReader({ market, readHead, opinions }: Needs): PaymentReader {
  const waiting = new Map<bigint, Payment>();
  const memory = createMemory();
  const pace = { clock: market.clock, everyMs: READING_EVERY_MS, atOnce: READINGS_AT_ONCE };
  const readings = createPasses(async () => {
    const payments = [...waiting.values()];
    waiting.clear();
    const head = await orNothing(market, readHead);
    return head === null ? new Map<bigint, Shown>() : await readMany(payments, head);
  }, pace);

  async function readMany(payments: readonly Payment[], head: FollowedHead): Promise<Map<bigint, Shown>> {
    market.crashPoint('after_head_read');
    const assets = [...Map.groupBy(payments, ({ asset }) => asset).values()];
    const shown = (await Promise.all(assets.map((ofOne) => readOfAsset(ofOne, head)))).flat();
    if (shown.length > 0) market.crashPoint('after_evidence_gathered');
    for (const one of shown) memory.note(one, head);
    return new Map(shown.map((one) => [one.payment.id, one]));
  }

  async function readOfAsset(payments: readonly Payment[], head: FollowedHead): Promise<Shown[]> {
    const isUnchanged = (payment: Payment, seenIn: readonly (bigint | null)[]): boolean =>
      memory.isUnchanged(payment, seenIn, head);
    const byX402 = onThisChain(market, payments, 'x402').filter(
      (payment) => !isUnchanged(payment, [payment.blockNumber]),
    );
    const direct = onThisChain(market, payments, 'direct');
    const [evidences, claims] = await Promise.all([
      orNothing(market, () => gatherEvidence({ market, opinions }, head, byX402)),
      orNothing(market, () => gatherClaims({ market, opinions, isUnchanged }, head, direct)),
    ]);
    const ofAttempt = (payment: X402Payment): Shown[] => {
      const evidence = evidences?.get(payment.id);
      return evidence === undefined ? [] : [{ path: 'x402', payment, evidence }];
    };
    const ofClaim = (payment: DirectPayment): Shown[] => {
      const reading = claims?.get(payment.id);
      return reading === undefined ? [] : [{ path: 'direct', payment, reading }];
    };
    return [...byX402.flatMap(ofAttempt), ...direct.flatMap(ofClaim)];
  }

  return {
    readMany,
    readOne: async (payment) => {
      waiting.set(payment.id, payment);
      return (await readings.fresh()).get(payment.id);
    },
  };
}

const REMEMBERED = 20_000;

/**
 * What this process has read of open payments, so that one that waits for finality is not read again while no block up to that reading has
 * gone: nothing can have changed, and nothing can be decided yet. It excludes nothing: once its block is final it is read anew.
 */
function createMemory() {
  const read = new Map<bigint, { rewrites: number; upTo: bigint; seenIn: string }>();
  const spelled = (seenIn: readonly (bigint | null)[]): string => seenIn.join(' ');
  return {
    note: (shown: Shown, { rewrites, latest }: FollowedHead): void => {
      if (read.size >= REMEMBERED) read.clear();
      const seenIn =
        shown.path === 'x402'
          ? [shown.evidence.use?.log.blockNumber ?? null]
          : [...shown.reading.values()].map(({ receipt }) => receipt?.blockNumber ?? null);
      read.set(shown.payment.id, { rewrites, upTo: latest.number, seenIn: spelled(seenIn) });
    },
    isUnchanged: ({ id }: Payment, seenIn: readonly (bigint | null)[], head: FollowedHead): boolean => {
      const before = read.get(id);
      if (before?.rewrites !== head.rewrites || before.seenIn !== spelled(seenIn)) return false;
      const { finalized } = head;
      return seenIn.every(
        (block) => block !== null && block <= before.upTo && (finalized === null || block > finalized.number),
      );
    },
  };
}

/** A payment of a network that this market was on before is decided where its chain is read, and left as it is here. */
function onThisChain<P extends Payment['path']>(market: Market, payments: readonly Payment[], path: P) {
  const { chainId } = market.config.network;
  return payments.filter((one): one is Extract<Payment, { path: P }> => one.path === path && one.chainId === chainId);
}

async function orNothing<T>(market: Market, read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    market.log.warn('chain_unreadable', { error });
    return null;
  }
}
