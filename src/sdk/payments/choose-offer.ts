import type { Hex } from 'viem';
import { NETWORKS, type Network } from '../../contract/vocabulary.ts';
import type { Offer, PaymentRequired } from './payment-required.ts';
import { TermsRefused } from './terms-refused.ts';

/** Longer windows would leave a cheque in the market's hands that outlives the purchase (W7). */
const LONGEST_WINDOW_SECONDS = 600;

/** What the buyer agreed to pay, known before anything is asked. */
export interface ExpectedPayment {
  payee: Hex;
  amountUnits: bigint;
  network: Network['name'];
}

/**
 * The offer that asks for exactly the expected payment: scheme exact, that network, its native USDC, that payee, that amount, a window
 * of at most 600 seconds. Anything else is refused before a signature exists.
 */
export function chooseOffer(required: PaymentRequired, expected: ExpectedPayment): Offer {
  const refusals: TermsRefused[] = [];
  for (const offer of required.offers) {
    const refused = refusalOf(offer, required, expected);
    if (refused === null) return offer;
    refusals.push(refused);
  }
  throw refusals[0] ?? new TermsRefused('unreadable_terms', 'the 402 offers no way to pay');
}

function refusalOf(offer: Offer, required: PaymentRequired, expected: ExpectedPayment): TermsRefused | null {
  const network = NETWORKS[expected.network];
  const { extra } = offer;
  const asked = required.x402Version === 1 ? network.name : network.caip2;
  if (offer.scheme !== 'exact') return new TermsRefused('wrong_scheme', 'the scheme is not exact');
  if (offer.network !== asked) return new TermsRefused('wrong_network', `the network is not ${network.name}`);
  if (offer.asset.toLowerCase() !== network.usdc) {
    return new TermsRefused('wrong_asset', `the asset is not native USDC on ${network.name}`);
  }
  if (offer.payTo.toLowerCase() !== expected.payee.toLowerCase()) {
    return new TermsRefused('wrong_payee', 'the payee is not the expected one');
  }
  if (offer.amountUnits !== expected.amountUnits) {
    return new TermsRefused('wrong_amount', `the amount is not the expected ${expected.amountUnits} units`);
  }
  if (offer.maxTimeoutSeconds < 1 || offer.maxTimeoutSeconds > LONGEST_WINDOW_SECONDS) {
    return new TermsRefused('window_too_long', `the window is not 1 to ${LONGEST_WINDOW_SECONDS} seconds`);
  }
  // Only a transfer with authorization of this very token can be signed here; the domain is ours, never the market's word.
  const method = extra['assetTransferMethod'] ?? 'eip3009';
  if (method !== 'eip3009') return new TermsRefused('wrong_scheme', 'the transfer method is not eip3009');
  const sameDomain =
    (extra['name'] ?? network.domainName) === network.domainName &&
    (extra['version'] ?? network.domainVersion) === network.domainVersion;
  return sameDomain ? null : new TermsRefused('wrong_domain', 'the signing domain is not that of USDC');
}
