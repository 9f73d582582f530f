import { RpcFailure } from '../../platform/chain/rpc.ts';
import { createPasses } from '../../platform/create-passes.ts';
import type { Market } from '../context.ts';
import type { Evidence } from './decide.ts';
import { type ClaimReading, gatherClaims } from './direct/gather-claims.ts';
import { type Gathering, gatherEvidence } from './gather-evidence.ts';
import type { ChainHead } from './head/read-head.ts';
import type { DirectPayment, Payment, X402Payment } from './payment.ts';
import type { SecondOpinions } from './providers/ask-others.ts';

/** A payment, and what the chain shows of it. */
export type Shown =
  | { path: 'x402'; payment: X402Payment; evidence: Evidence }
  | { path: 'direct'; payment: DirectPayment; reading: ClaimReading };

export interface PaymentReader {
  /** Of one payment: all that are asked for at the same time share a reading. Undefined where it cannot be read. */
  readOne(payment: Payment): Promise<Shown | undefined>;
  /** By payment; without those that cannot be read, or need not be. */
  readMany(payments: readonly Payment[], look: Look): Promise<Map<bigint, Shown>>;
}

/** How a reading is done. */
export type Look = Pick<Gathering, 'readHead' | 'unchangedTo'>;

interface Needs {
  market: Market;
  readHead(): Promise<ChainHead>;
  opinions: SecondOpinions;
}

/** So many readings a second for live requests: under load more payments share each, and the provider is asked no more often. */
const READING_EVERY_MS = 50;
const READINGS_AT_ONCE = 4;

/** Reads the chain about payments. The heads and the logs cost the same for one payment as for a hundred. */
export function createPaymentReader({ market, readHead, opinions }: Needs): PaymentReader {
  const waiting = new Map<bigint, Payment>();
  const pace = { clock: market.clock, everyMs: READING_EVERY_MS, atOnce: READINGS_AT_ONCE };
  const readings = createPasses(() => {
    const payments = [...waiting.values()];
    waiting.clear();
    return readMany(payments, { readHead, unchangedTo: null });
  }, pace);

  async function readMany(payments: readonly Payment[], look: Look): Promise<Map<bigint, Shown>> {
    const assets = [...Map.groupBy(payments, ({ asset }) => asset).values()];
    const shown = await Promise.all(assets.map((ofOne) => readOfAsset(ofOne, look)));
    return new Map(shown.flat().map((one) => [one.payment.id, one]));
  }

  async function readOfAsset(payments: readonly Payment[], look: Look): Promise<Shown[]> {
    const gathering = { market, opinions, ...look };
    const byX402 = onThisChain(market, payments, 'x402');
    const direct = onThisChain(market, payments, 'direct');
    const [evidences, claims] = await Promise.all([
      readOrNothing(market, byX402, () => gatherEvidence(gathering, byX402)),
      readOrNothing(market, direct, () => gatherClaims(gathering, direct)),
    ]);
    const ofAttempt = (payment: X402Payment): Shown[] => {
      const evidence = evidences.get(payment.id);
      return evidence === undefined ? [] : [{ path: 'x402', payment, evidence }];
    };
    const ofClaim = (payment: DirectPayment): Shown[] => {
      const reading = claims.get(payment.id);
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

/** A payment of a network that this market was on before is decided where its chain is read, and left as it is here. */
function onThisChain<P extends Payment['path']>(market: Market, payments: readonly Payment[], path: P) {
  const { chainId } = market.config.network;
  return payments.filter((one): one is Extract<Payment, { path: P }> => one.path === path && one.chainId === chainId);
}

async function readOrNothing<T>(
  market: Market,
  payments: readonly Payment[],
  read: () => Promise<Map<bigint, T>>,
): Promise<Map<bigint, T>> {
  if (payments.length === 0) return new Map();
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    market.log.warn('chain_unreadable', { error });
    return new Map();
  }
}
