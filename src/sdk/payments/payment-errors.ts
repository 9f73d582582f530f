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

/** Of goods; a thing of a city has none, and is bought by no single call. */
export function goodsOf({ artifact_commitment: commitment }: { artifact_commitment: string | null }): string {
  if (commitment !== null) return commitment;
  throw new TermsRefused('not_goods', own`the listing is a thing of the city: use buyThing`);
}

/** Nobody buys from the wallet that pays: the money would stay where it is, and the market refuses it. */
export function mustNotBeOwn(payee: string, payer: string): void {
  if (payee.toLowerCase() !== payer.toLowerCase()) return;
  throw new TermsRefused('own_goods', own`the wallet that would pay sells these goods`);
}

const OTHER_TERMS = own`Do not pay this market until its operator has explained what it asks for.`;
const NEXT_STEPS: Readonly<Record<WhyRefused, OwnWords>> = {
  price_above_limit: own`Look at the price, and allow more if it is worth that.`,
  unreadable_terms: OTHER_TERMS,
  version_not_offered: own`Call without x402Version: then one that the market offers is taken.`,
  wrong_scheme: OTHER_TERMS,
  wrong_network: own`Name the market’s network, if you hold money there; its official facts say which it is.`,
  wrong_asset: OTHER_TERMS,
  wrong_payee: OTHER_TERMS,
  wrong_amount: own`Read the listing again: its price may be another one.`,
  window_too_long: OTHER_TERMS,
  wrong_domain: OTHER_TERMS,
  wrong_intent: own`Open a new intent.`,
  other_market: own`Sign nothing there, unless both are one market behind a tunnel or a proxy: then say what it calls itself (--market-calls-itself URL, callsItself of createClient).`,
  too_little_time: own`Open a new intent, and pay at once.`,
  wallet_cannot_sign: own`Have the wallet sign the challenge in its own way (ERC-1271), or pay from another wallet: its transfer could not be claimed.`,
  clock_wrong: own`Set the clock of this machine, then call again. If it is right, tell the operator of the site.`,
  own_goods: own`getOwnListing gives your own goods back. To try a purchase, use a wallet of another person.`,
  not_goods: own`Buy it in its city, or by buyThing.`,
};

/** What the market asks for is not what the buyer agreed to. Nothing was signed or sent that could move money. */
export class TermsRefused extends Error {
  override readonly name = 'TermsRefused';
  readonly why: WhyRefused;
  /** The fault, and what became of the call. */
  readonly detail: OwnWords;
  readonly nextStep: OwnWords;

  /** `nextStep`: where the usual one of this `why` would not help. */
  constructor(why: WhyRefused, detail: OwnWords, said: { outcome?: OwnWords; nextStep?: OwnWords } = {}) {
    const whole = own`${detail}; ${said.outcome ?? own`nothing was signed`}`;
    super(whole);
    this.detail = whole;
    this.why = why;
    this.nextStep = said.nextStep ?? NEXT_STEPS[why];
  }
}

const found = z.object({ tx_hash: hashOut.nullable().catch(null), block: z.int().nullable().catch(null) });

/**
 * The market has lost some of its books, and the chain shows a transfer of exactly this amount from this wallet to this payee that is in
 * none: perhaps the payment for this. Nothing was submitted. Find out what it paid for before calling again with `payAnew`.
 */
export class PaymentMayBeLost extends Error {
  override readonly name = 'PaymentMayBeLost';
  readonly doNotPayAgain = true;
  /** Null where the market did not say, or said something else. */
  readonly txHash: string | null;
  readonly block: number | null;

  constructor(cause: MarketError) {
    super(
      `${cause.message} Nothing was submitted. If that transaction paid for this, do not pay again: keep what is stored, and ask the payee. ` +
        'If it paid for something else, call again with payAnew: true (and mayPayAgain: true, if a signature made before has run out)',
      { cause },
    );
    const { tx_hash, block } = found.parse(cause.problem);
    this.txHash = tx_hash;
    this.block = block;
  }
}

/** What to throw in place of a refusal: with what was found and how to go on, where that is what it says. */
export function saidOf(error: MarketError): Error {
  return error.reason === 'payment_may_be_lost' ? new PaymentMayBeLost(error) : error;
}
