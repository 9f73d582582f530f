import { z } from 'zod';
import { hashOut } from '../../contract/chain-values.ts';
import { type OwnWords, own } from '../../contract/own-words.ts';
import type { MarketError } from '../errors.ts';

export type WhyRefused =
  | 'price_above_limit'
  | 'unreadable_terms'
  | 'version_not_offered'
  | 'wrong_scheme'
  | 'wrong_network'
  | 'wrong_asset'
  | 'wrong_payee'
  | 'wrong_amount'
  | 'window_too_long'
  | 'wrong_domain'
  | 'wrong_intent'
  | 'other_market'
  | 'too_little_time'
  | 'wallet_cannot_sign'
  | 'clock_wrong'
  | 'own_goods'
  | 'not_goods';

/** Returns the listing's commitment. Throws for a city thing, which has none and is bought with `buyThing`. */
export function commitmentOfListing({
  artifact_commitment: commitment,
}: {
  artifact_commitment: string | null;
}): string {
  if (commitment !== null) return commitment;
  throw new TermsRefused('not_goods', own`the listing is a city thing`);
}

/** Refuses a purchase from the paying wallet, because no money would move and the market refuses it too. */
export function refuseOwnGoods(payee: string, payer: string): void {
  if (payee.toLowerCase() !== payer.toLowerCase()) return;
  throw new TermsRefused('own_goods', own`the paying wallet sells these goods`);
}

const STOP_PAYING = own`Don’t pay this market until its operator explains the request.`;
const NEXT_STEPS: Readonly<Record<WhyRefused, OwnWords>> = {
  price_above_limit: own`Check the price, and allow more if it is worth it.`,
  unreadable_terms: STOP_PAYING,
  version_not_offered: own`Call without x402Version to use a version that the market offers.`,
  wrong_scheme: STOP_PAYING,
  wrong_network: own`Use the market’s network, which its official facts name, if you have money there.`,
  wrong_asset: STOP_PAYING,
  wrong_payee: STOP_PAYING,
  wrong_amount: own`Read the listing again: its price may have changed.`,
  window_too_long: STOP_PAYING,
  wrong_domain: STOP_PAYING,
  wrong_intent: own`Open a new intent.`,
  other_market: own`Sign nothing there, unless both addresses belong to the same market behind a tunnel or proxy. In that case, pass its own address (--market-calls-itself URL, or callsItself of createClient).`,
  too_little_time: own`Open a new intent and pay at once.`,
  wallet_cannot_sign: own`Have the wallet sign the challenge its own way (ERC-1271), or pay from another wallet. A transfer from this one couldn’t be claimed.`,
  clock_wrong: own`Set this machine’s clock, then call again. If it is right, tell the server’s operator.`,
  own_goods: own`Use getOwnListing to read your own goods. To test a purchase, use a wallet that doesn’t belong to this seller.`,
  not_goods: own`Buy it in its city, or with buyThing.`,
};

/** The client refuses the terms, or can't sign them safely. Nothing that could move money was signed or sent for them. */
export class TermsRefused extends Error {
  override readonly name = 'TermsRefused';
  readonly why: WhyRefused;
  /** The fault and the outcome of the call. */
  readonly detail: OwnWords;
  readonly nextStep: OwnWords;

  /** `nextStep` replaces the default for `why`. */
  constructor(why: WhyRefused, detail: OwnWords, more: { outcome?: OwnWords; nextStep?: OwnWords } = {}) {
    const whole = own`${detail}; ${more.outcome ?? own`nothing was signed`}`;
    super(whole);
    this.detail = whole;
    this.why = why;
    this.nextStep = more.nextStep ?? NEXT_STEPS[why];
  }
}

const lostPayment = z.object({ tx_hash: hashOut.nullable().catch(null), block: z.int().nullable().catch(null) });

/**
 * The market lost some of its records, and the chain shows a transfer of exactly this amount from this wallet to this payee that it can't
 * match. It may be the payment for this purchase or listing. Nothing was submitted. Find out what it paid for before calling again with
 * `payAnew`.
 */
export class PaymentMayBeLost extends Error {
  override readonly name = 'PaymentMayBeLost';
  readonly doNotPayAgain = true;
  /** Null if missing or malformed in the answer. */
  readonly txHash: string | null;
  readonly block: number | null;

  constructor(cause: MarketError) {
    super(
      `${cause.message} Nothing was submitted. If that transaction paid for this, do not pay again: keep the stored payment and ask the payee. ` +
        'If it paid for something else, call again with payAnew: true (and mayPayAgain: true if an earlier signature has expired)',
      { cause },
    );
    const { tx_hash, block } = lostPayment.parse(cause.problem);
    this.txHash = tx_hash;
    this.block = block;
  }
}

/** Converts the refusal `payment_may_be_lost` to its own error class. */
export function refusalToThrow(error: MarketError): Error {
  return error.reason === 'payment_may_be_lost' ? new PaymentMayBeLost(error) : error;
}
