import type { Hex } from 'viem';
import type { z } from 'zod';
import { checksummed } from '../../../contract/chain-values.ts';
import type { feeIntentOut, purchaseIntentOut } from '../../../contract/direct-payments.ts';
import { usdcText } from '../../../contract/money.ts';
import type { OfficialFacts } from '../../../contract/official.ts';
import { named, own } from '../../../contract/own-words.ts';
import { NETWORKS, type Network, type PaymentPurpose } from '../../../contract/vocabulary.ts';
import { type NamedMarket, nameToSignFor } from '../market-name.ts';
import { TermsRefused } from '../payment-errors.ts';

export type Intent = z.output<typeof purchaseIntentOut> | z.output<typeof feeIntentOut>;

/** Terms agreed before opening an intent: from the listing, the official facts and the caller. */
export interface TransferTerms {
  purpose: PaymentPurpose;
  /** Null for fees. */
  listingId: number | null;
  payer: Hex;
  payee: string;
  amountUnits: bigint;
  network: Network['name'];
  market: NamedMarket;
  /** Null for fees. */
  artifactCommitment: string | null;
}

export const OTHER_FEE = own`Call again. If it happens again, don’t pay until the market’s operator explains the fee.`;

const SERVICE = 'Openaisle';
/** Seconds needed to sign, send and mine a transfer. */
const MIN_SECONDS_LEFT = 120;
const HANDLE = /^[a-z0-9][a-z0-9-]{2,31}$/;
const NONCE = /^[0-9a-f]{32}$/;

/** Throws unless the market uses the expected network and token. */
export function checkFacts(facts: OfficialFacts, network: Network['name']): void {
  if (facts.network !== network) throw new TermsRefused('wrong_network', own`the market isn’t on the expected network`);
  if (facts.usdc_contract.toLowerCase() !== NETWORKS[network].usdc) {
    throw new TermsRefused('wrong_asset', own`the market’s token isn’t native USDC on that network`);
  }
}

/** Throws unless the intent asks for exactly the agreed terms, and the text to sign says the same and nothing else. */
export function checkIntent(intent: Intent, terms: TransferTerms): void {
  const network = NETWORKS[terms.network];
  if (intent.network !== network.name || intent.chain_id !== Number(network.chainId)) {
    throw new TermsRefused('wrong_network', own`the network isn’t ${named(network.name)}`);
  }
  if (intent.asset.toLowerCase() !== network.usdc) {
    throw new TermsRefused('wrong_asset', own`the asset isn’t native USDC on ${named(network.name)}`);
  }
  if (!sameAddress(intent.seller_wallet, terms.payee)) {
    throw new TermsRefused('wrong_payee', own`the payee isn’t the expected one`);
  }
  const { minimum_amount_units: units, minimum_amount_usdc: usdc } = intent;
  if (units !== terms.amountUnits.toString() || usdc !== usdcText(terms.amountUnits)) {
    const more = terms.purpose === 'listing_fee' ? { nextStep: OTHER_FEE } : {};
    throw new TermsRefused('wrong_amount', own`the amount isn’t the expected ${terms.amountUnits} units`, more);
  }
  const isOurs = intent.payer_wallet !== null && sameAddress(intent.payer_wallet, terms.payer);
  if (!isOurs || intent.listing_id !== terms.listingId) {
    throw new TermsRefused('wrong_intent', own`the intent is for another wallet or another listing`);
  }
  if (!HANDLE.test(intent.buyer) || !NONCE.test(intent.challenge_nonce) || !challengeAgrees(intent, terms)) {
    throw new TermsRefused('wrong_intent', own`the challenge doesn’t match the intent`);
  }
}

/** Throws if a transfer sent now might arrive too late for the intent. */
export function checkTimeLeft({ expires_at }: Pick<Intent, 'expires_at'>, nowMs: number): void {
  if (Date.parse(expires_at) - nowMs >= MIN_SECONDS_LEFT * 1_000) return;
  throw new TermsRefused('too_little_time', own`less than ${MIN_SECONDS_LEFT} seconds of the intent are left`, {
    outcome: own`nothing was sent; call again for another intent`,
  });
}

/** Rebuilds the text from the checked values and compares it, so no line can be missing or added. */
function challengeAgrees(intent: Intent, terms: TransferTerms): boolean {
  const claimed = /^base_url: (.*)$/m.exec(intent.challenge)?.[1];
  if (claimed === undefined) return false;
  // Without this check, a dishonest market could pass on another market's intent, so that the transfer pays for somebody else's purchase.
  const baseUrl = nameToSignFor(terms.market, claimed);
  const network = NETWORKS[terms.network];
  const lines: [string, string][] = [
    ['service', SERVICE],
    ['base_url', baseUrl],
    ['chain_id', network.chainId.toString()],
    ['intent_id', intent.id],
    ['purpose', terms.purpose],
    ['listing_id', terms.listingId?.toString() ?? 'none'],
    ['buyer', intent.buyer],
    ['payer', checksummedAddress(terms.payer)],
    ['payee', checksummedAddress(terms.payee)],
    ['asset', checksummed(network.usdc)],
    ['minimum_amount_units', terms.amountUnits.toString()],
    ['nonce', intent.challenge_nonce],
    ['created_at', intent.created_at],
    ['expires_at', intent.expires_at],
  ];
  return lines.map(([name, value]) => `${name}: ${value}`).join('\n') === intent.challenge;
}

function checksummedAddress(address: string): string {
  return checksummed(address.toLowerCase() as Hex);
}

function sameAddress(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
