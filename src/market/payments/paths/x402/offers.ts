import type { Hex } from '../../../../platform/hex.ts';
import { Refusal } from '../../../../platform/refusal.ts';
import type { Market } from '../../../context.ts';
import type { Terms } from '../../terms.ts';
import { askState, type FacilitatorState } from './ask-facilitator.ts';

type Needs = Pick<Market, 'config' | 'log' | 'clock'>;

/** What a check of a proof came to; null: there was no proof. */
type Checked = { payer: Hex } | { refusal: Refusal } | null;

/** If the facilitator's gas covers fewer settlements, no payer is asked to sign any more. What was signed already is settled still. */
const LEAST_COVERED = 50;
const STANDING_KEPT_MS = 10_000;
/** A facilitator of another make has no such route, and is not asked again for a while. */
const UNKNOWN_ROUTE_KEPT_MS = 5 * 60_000;
const RETRY_SECONDS = 60;

const WAY_OUT: Readonly<Record<Terms['purpose'], string>> = {
  purchase:
    'Open a purchase intent with POST /api/purchase-intent/:id and pay by a transfer, or come back after Retry-After.',
  listing_fee: 'Open a fee intent with POST /api/fee-intent and pay by a transfer, or come back after Retry-After.',
};

/**
 * Whether x402 can be offered now, by the facilitator's own word: asked before a payment is opened, so that no payer signs for, or waits
 * for, what would not be settled. A facilitator that does not say so, or does not answer, counts as willing: then /verify decides. One per
 * market.
 */
export function createOffers(market: Needs) {
  const { clock } = market;
  const refused = new Map<string, number>();
  let standing: { until: number; covered: Promise<number | null> } | null = null;
  let mutedUntil = 0;

  const ask = async (payment: { payer: Hex; payee: Hex } | null): Promise<FacilitatorState | null> => {
    if (mutedUntil > clock.now()) return null;
    const answer = await askState(market, payment);
    if (answer === 'no_route') mutedUntil = clock.now() + UNKNOWN_ROUTE_KEPT_MS;
    if (answer === 'unknown') mutedUntil = clock.now() + STANDING_KEPT_MS;
    return typeof answer === 'string' ? null : answer;
  };
  const keep = (covered: Promise<number | null>): Promise<number | null> => {
    standing = { until: clock.now() + STANDING_KEPT_MS, covered };
    return covered;
  };
  const readCovered = (): Promise<number | null> => {
    if (standing !== null && standing.until > clock.now()) return standing.covered;
    return keep(ask(null).then((state) => state?.covered ?? null));
  };
  const note = (why: string): void => void refused.set(why, (refused.get(why) ?? 0) + 1);

  return {
    /** Where the answer would ask the payer to sign. Throws 503 settlement_unavailable. */
    async beforeSigning({ purpose }: Terms, check: Checked): Promise<void> {
      const asks = check === null || ('refusal' in check && check.refusal.row.status === 402);
      if (!asks) return;
      const covered = await readCovered();
      if (covered === null || covered >= LEAST_COVERED) return;
      note('gas_low');
      throw new Refusal('settlement_unavailable', { retryAfterSeconds: RETRY_SECONDS, nextStep: WAY_OUT[purpose] });
    },
    /** Before a row is opened for a payer who has shown that the wallet is theirs. Throws 409 x402_not_offered. */
    async mustBeOffered({ purpose, payee }: Terms, payer: Hex): Promise<void> {
      const state = await ask({ payer, payee });
      if (state === null) return;
      keep(Promise.resolve(state.covered));
      if (state.refusal === null) return;
      const { why, seconds } = state.refusal;
      note(why);
      const detail =
        why === 'payer_resting'
          ? 'The last transfer that this wallet signed failed on the chain, so its next ones are not submitted for a while.'
          : 'The facilitator pays for no more transfers of new wallets just now.';
      throw new Refusal('x402_not_offered', { detail, retryAfterSeconds: seconds, nextStep: WAY_OUT[purpose] });
    },
    /** How often that was said, for the metrics. */
    refused: (): ReadonlyMap<string, number> => refused,
  };
}
export type Offers = ReturnType<typeof createOffers>;
