import { z } from 'zod';
import { codeOut } from '../../../../contract/answer-forms.ts';
import { checksummed } from '../../../../contract/chain-values.ts';
import { formatUsdc, usdcOfUnits } from '../../../../contract/money.ts';
import { FACILITATOR_ANSWER_LIMIT_BYTES, FACILITATOR_DEADLINE_SECONDS } from '../../../../contract/vocabulary.ts';
import { createSingleFlight } from '../../../../platform/background-jobs.ts';
import type { Hex } from '../../../../platform/hex.ts';
import { askJson, OutboundFailure } from '../../../../platform/http/outbound-requests.ts';
import { Refusal } from '../../../../platform/refusal.ts';
import type { Market } from '../../../context.ts';
import { type Proof, requirementOf, type Terms } from '../../terms.ts';
import { storeSignerReading } from './store.ts';

type SignerMarket = Pick<Market, 'config' | 'log' | 'database' | 'clock'>;

/** Minimum time between two requests for the facilitator's signers, however many transfers strangers make. */
const ASK_AGAIN_MS = 10_000;

/** Stores the facilitator's signers. Returns false if it does not answer. */
export async function refreshSigners(market: SignerMarket): Promise<boolean> {
  const addresses = await askSigners(market);
  if (addresses === null) return false;
  const { config, clock, database } = market;
  const reading = {
    chainId: config.network.chainId,
    url: config.facilitatorUrl,
    addresses,
    now: new Date(clock.now()),
  };
  await database.transaction((tx) => storeSignerReading(tx, reading));
  return true;
}

/** Shares one refresh among concurrent callers, and repeats it after ten seconds at the earliest. Until then the last result counts. */
export function createSignerRefresh(market: SignerMarket): () => Promise<boolean> {
  let last = { at: Number.NEGATIVE_INFINITY, outcome: false };
  const refreshes = createSingleFlight(async () => {
    if (market.clock.now() - last.at >= ASK_AGAIN_MS) {
      const outcome = await refreshSigners(market);
      last = { at: market.clock.now(), outcome };
    }
    return last.outcome;
  });
  return () => refreshes.fresh();
}

type X402GateMarket = Pick<Market, 'config' | 'log' | 'clock'>;

/** The result of a proof check. Null if there was no proof. */
type Checked = { payer: Hex } | { refusal: Refusal } | null;

/** If the facilitator can pay for fewer settlements than this, no payer is asked to sign. Signed payments are still settled. */
const MIN_COVERED = 50;
const STATE_CACHED_MS = 10_000;
/** A third-party facilitator has no /state route, so its state is not requested again for this long. */
const UNKNOWN_ROUTE_CACHED_MS = 5 * 60_000;
const MIN_PRICE_CACHED_MS = 60_000;
const RETRY_SECONDS = 60;

/** The part of the facilitator's state that is the same for all payers. */
interface Readiness {
  /** Number of settlements that the facilitator's account can pay gas for. Null if it does not say. */
  covered: number | null;
  /** Lowest price, in units of USDC, at which a sale now pays for its own gas. Null if the facilitator does not say. */
  leastPriceUnits: bigint | null;
}

/** Remembers the last least price for a minute, for when the facilitator does not answer or cannot read the chain. */
function createLastLeastPrice({ clock }: Pick<Market, 'clock'>) {
  let last: { until: number; units: bigint } | null = null;
  return {
    note: (units: bigint): void => {
      last = { until: clock.now() + MIN_PRICE_CACHED_MS, units };
    },
    read: (): bigint | null => (last !== null && last.until > clock.now() ? last.units : null),
  };
}

const ALTERNATIVES: Readonly<Record<Terms['purpose'], string>> = {
  purchase:
    'Open a purchase intent with POST /api/purchase-intent/:id and pay by a transfer, or come back after Retry-After.',
  listing_fee: 'Open a fee intent with POST /api/fee-intent and pay by a transfer, or come back after Retry-After.',
};

/**
 * Asks the facilitator whether it would settle now, before a payment is opened, so that no payer signs or waits in vain. If it gives no
 * answer, it counts as willing, at the least price it named within the last minute; then /verify decides. Create one per market.
 */
export function createX402Gate(market: X402GateMarket) {
  const { clock } = market;
  const refused = new Map<string, number>();
  const lastLeastPrice = createLastLeastPrice(market);
  let cached: { until: number; readiness: Promise<Readiness> } | null = null;
  let mutedUntil = 0;

  const askUnlessMuted = async (payment: { payer: Hex; payee: Hex } | null): Promise<FacilitatorState | null> => {
    if (mutedUntil > clock.now()) return null;
    const answer = await askState(market, payment);
    if (answer === 'no_route') mutedUntil = clock.now() + UNKNOWN_ROUTE_CACHED_MS;
    if (answer === 'unknown') mutedUntil = clock.now() + STATE_CACHED_MS;
    if (typeof answer === 'string') return null;
    if (answer.leastPriceUnits !== null) lastLeastPrice.note(answer.leastPriceUnits);
    return answer;
  };
  const keepReadiness = (readiness: Promise<Readiness>): Promise<Readiness> => {
    cached = { until: clock.now() + STATE_CACHED_MS, readiness };
    return readiness;
  };
  const readReadiness = (): Promise<Readiness> => {
    if (cached !== null && cached.until > clock.now()) return cached.readiness;
    return keepReadiness(askUnlessMuted(null).then((state) => state ?? { covered: null, leastPriceUnits: null }));
  };
  const countRefusal = (why: string): void => void refused.set(why, (refused.get(why) ?? 0) + 1);
  /** A fee may be below the least price, because there is one per listing and its amount is fixed. */
  const mustPayForGas = ({ purpose, valueUnits }: Terms, stated: bigint | null): void => {
    const leastPriceUnits = stated ?? lastLeastPrice.read();
    if (purpose !== 'purchase' || leastPriceUnits === null || valueUnits >= leastPriceUnits) return;
    countRefusal('below_gas');
    throw belowMinimumPrice(leastPriceUnits, 'A sale below this price does not pay for its own gas just now.');
  };

  return {
    /** Least price of an x402 sale now, in units of USDC. Null if the facilitator does not say. */
    async leastPriceUnits(): Promise<bigint | null> {
      return (await readReadiness()).leastPriceUnits ?? lastLeastPrice.read();
    },
    /**
     * Call before an answer that may ask the payer to sign. Does nothing if the answer does not. Throws 409 x402_not_offered or 503
     * settlement_unavailable.
     */
    async beforeSigning(terms: Terms, check: Checked): Promise<void> {
      const asksToSign = check === null || ('refusal' in check && check.refusal.row.status === 402);
      if (!asksToSign) return;
      const readiness = await readReadiness();
      mustPayForGas(terms, readiness.leastPriceUnits);
      const { covered } = readiness;
      if (covered === null || covered >= MIN_COVERED) return;
      countRefusal('gas_low');
      throw new Refusal('settlement_unavailable', {
        retryAfterSeconds: RETRY_SECONDS,
        nextStep: ALTERNATIVES[terms.purpose],
      });
    },
    /** Call before a row is opened, for a payer who has shown control of the wallet. Throws 409 x402_not_offered. */
    async mustBeOffered(terms: Terms, payer: Hex): Promise<void> {
      const state = await askUnlessMuted({ payer, payee: terms.payee });
      if (state !== null) keepReadiness(Promise.resolve(state));
      mustPayForGas(terms, state?.leastPriceUnits ?? null);
      if (state === null || state.refusal === null) return;
      countRefusal(state.refusal.why);
      throw notOfferedRefusal(terms, state.refusal);
    },
    refused: (): ReadonlyMap<string, number> => refused,
  };
}

function notOfferedRefusal({ purpose }: Terms, { why, seconds }: NonNullable<FacilitatorState['refusal']>): Refusal {
  const detail =
    why === 'payer_resting'
      ? 'The last transfer that this wallet signed failed on the chain, so its next ones are not submitted for a while.'
      : 'The facilitator pays for no more transfers of new wallets just now.';
  return new Refusal('x402_not_offered', { detail, retryAfterSeconds: seconds, nextStep: ALTERNATIVES[purpose] });
}

/** Builds the refusal of a sale that is too cheap for x402. `why` explains the least price. */
export function belowMinimumPrice(leastPriceUnits: bigint, why: string): Refusal {
  const least = formatUsdc(leastPriceUnits);
  return new Refusal('x402_not_offered', {
    detail: `x402 is offered from ${least} on. ${why}`,
    nextStep: `Open a purchase intent with POST /api/purchase-intent/:id and pay by a transfer. The seller can list it anew at ${least} or more.`,
    fields: { least_price_usdc: usdcOfUnits(leastPriceUnits) },
  });
}

type FacilitatorMarket = Pick<Market, 'config' | 'log'>;

type VerifyAnswer =
  | { kind: 'valid' }
  | { kind: 'invalid'; reason: string }
  /** No well-formed answer arrived in time, which says nothing about the payment. */
  | { kind: 'unknown'; why: string };

type SettleAnswer = { kind: 'submitted' } | { kind: 'rejected'; reason: string } | { kind: 'unknown'; why: string };

/** A reason code, which the market repeats in its own refusals. Any other text becomes `unreadable_reason`. */
const reasonText = z
  .string()
  .max(300)
  .default('no_reason')
  .transform((text) => (codeOut.safeParse(text).success ? text : 'unreadable_reason'));
const verifyShape = z.object({ isValid: z.boolean(), invalidReason: reasonText });
const settleShape = z.object({ success: z.boolean(), errorReason: reasonText, transaction: z.string().max(200) });
const supportedShape = z.object({
  signers: z.record(z.string().max(100), z.array(z.string().max(100)).max(100)).optional(),
});

const stateShape = z.object({
  settlements_covered: z.int().nonnegative().nullable(),
  least_price_units: z.int().nonnegative().nullish(),
  may_settle: z.boolean().optional(),
  why: z.enum(['payer_resting', 'gas_budget_spent']).nullish(),
  retry_after_seconds: z.int().positive().max(86_400).nullish(),
});
/** Short, because the request delays a purchase. */
const STATE_DEADLINE_MS = 1_500;

/** Asks the facilitator to verify before settlement. Its answer alone never delivers anything. */
export async function askVerify(market: FacilitatorMarket, proof: Proof, terms: Terms): Promise<VerifyAnswer> {
  const answer = await askFacilitator(market, 'verify', bodyOf(market, proof, terms));
  if ('why' in answer) return { kind: 'unknown', why: answer.why };
  const read = verifyShape.safeParse(answer.json);
  if (!read.success) return { kind: 'unknown', why: 'malformed_answer' };
  // A refusal may have a 4xx status. An acceptance counts only with status 200.
  if (read.data.isValid)
    return answer.status === 200 ? { kind: 'valid' } : { kind: 'unknown', why: 'status_contradicts' };
  return answer.status >= 500
    ? { kind: 'unknown', why: 'facilitator_error' }
    : { kind: 'invalid', reason: read.data.invalidReason };
}

export async function askSettle(market: FacilitatorMarket, proof: Proof, terms: Terms): Promise<SettleAnswer> {
  const answer = await askFacilitator(market, 'settle', bodyOf(market, proof, terms));
  if ('why' in answer) return { kind: 'unknown', why: answer.why };
  const read = settleShape.safeParse(answer.json);
  if (!read.success) return { kind: 'unknown', why: 'malformed_answer' };
  if (read.data.success) return { kind: 'submitted' };
  const reason = read.data.errorReason;
  if (reason === 'settlement_pending' || answer.status >= 500) return { kind: 'unknown', why: reason };
  return { kind: 'rejected', reason };
}

/** Reads the addresses from which the facilitator says it settles on this network. Null if it does not answer. */
async function askSigners(market: FacilitatorMarket): Promise<Hex[] | null> {
  const answer = await askFacilitator(market, 'supported', null);
  if ('why' in answer || answer.status !== 200) return null;
  const read = supportedShape.safeParse(answer.json);
  if (!read.success) return null;
  const signers = read.data.signers ?? {};
  return [...(signers['eip155:*'] ?? []), ...(signers[market.config.network.caip2] ?? [])]
    .map((address) => address.toLowerCase())
    .filter((address): address is Hex => /^0x[0-9a-f]{40}$/.test(address));
}

interface FacilitatorState extends Readiness {
  /**
   * Reason why the facilitator would not begin a settlement for that payer now. Null if it would, gave no reason, or was asked about no
   * payer.
   */
  refusal: { why: 'payer_resting' | 'gas_budget_spent'; seconds: number } | null;
}

/**
 * Returns `no_route` if the facilitator has no /state route, which is so for third-party ones, and `unknown` if no readable answer arrives
 * in time.
 */
async function askState(
  market: FacilitatorMarket,
  payment: { payer: Hex; payee: Hex } | null,
): Promise<FacilitatorState | 'no_route' | 'unknown'> {
  const query = payment === null ? '' : `?payer=${payment.payer}&payee=${payment.payee}`;
  const answer = await askFacilitator(market, `state${query}`, null, STATE_DEADLINE_MS);
  if ('why' in answer) return answer.why === 'not_json' ? 'no_route' : 'unknown';
  if (answer.status >= 400 && answer.status < 500) return 'no_route';
  const read = stateShape.safeParse(answer.json);
  if (answer.status !== 200 || !read.success) return 'unknown';
  const { settlements_covered: covered, least_price_units: least, ...stated } = read.data;
  const { may_settle: maySettle, why, retry_after_seconds: seconds } = stated;
  const isRefused = payment !== null && maySettle === false && typeof why === 'string';
  const leastPriceUnits = least == null ? null : BigInt(least);
  return { covered, leastPriceUnits, refusal: isRefused ? { why, seconds: seconds ?? 1 } : null };
}

/** Always uses version 2, because the facilitator settles both versions alike and the signed object is the same. */
function bodyOf(market: FacilitatorMarket, proof: Proof, terms: Terms): unknown {
  const accepted = requirementOf(terms, market.config.network, checksummed);
  const { authorization, signature } = proof;
  return {
    x402Version: 2,
    paymentPayload: {
      x402Version: 2,
      resource: { url: terms.resource, description: terms.description, mimeType: 'application/json' },
      accepted,
      payload: {
        signature,
        authorization: {
          from: checksummed(authorization.from),
          to: checksummed(authorization.to),
          value: authorization.value.toString(),
          validAfter: authorization.validAfter.toString(),
          validBefore: authorization.validBefore.toString(),
          nonce: authorization.nonce,
        },
      },
    },
    paymentRequirements: accepted,
  };
}

async function askFacilitator(
  market: FacilitatorMarket,
  path: string,
  body: unknown,
  deadlineMs = FACILITATOR_DEADLINE_SECONDS * 1000,
) {
  const { facilitatorUrl, facilitatorAuth } = market.config;
  try {
    const answer = await askJson(`${facilitatorUrl}/${path}`, {
      body,
      deadlineMs,
      maxBytes: FACILITATOR_ANSWER_LIMIT_BYTES,
      headers: facilitatorAuth === null ? {} : { authorization: facilitatorAuth },
    });
    if (answer.status !== 401) return answer;
    // A 401 is about this market's credentials, so the facilitator has not looked at the payment.
    market.log.error('facilitator_unauthorized', { path: pathName(path) });
    return { why: 'unauthorized' } as const;
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error;
    market.log.warn('facilitator_unreadable', { path: pathName(path), why: error.why });
    return { why: error.why };
  }
}

function pathName(path: string): string {
  return path.split('?', 1)[0] ?? '';
}
