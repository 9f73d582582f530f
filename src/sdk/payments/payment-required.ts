import type { Hex } from 'viem';
import { z } from 'zod';
import { named, own } from '../../contract/own-words.ts';
import { NETWORKS, type Network } from '../../contract/vocabulary.ts';
import { fromBase64 } from '../base64.ts';
import { parseJson } from '../parse-json.ts';
import { TermsRefused } from './payment-errors.ts';

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
  throw refusals[0] ?? new TermsRefused('unreadable_terms', own`the 402 offers no way to pay`);
}

function refusalOf(offer: Offer, required: PaymentRequired, expected: ExpectedPayment): TermsRefused | null {
  const network = NETWORKS[expected.network];
  const { extra } = offer;
  const asked = required.x402Version === 1 ? network.name : network.caip2;
  if (offer.scheme !== 'exact') return new TermsRefused('wrong_scheme', own`the scheme is not exact`);
  if (offer.network !== asked) return new TermsRefused('wrong_network', own`the network is not ${named(network.name)}`);
  if (offer.asset.toLowerCase() !== network.usdc) {
    return new TermsRefused('wrong_asset', own`the asset is not native USDC on ${named(network.name)}`);
  }
  if (offer.payTo.toLowerCase() !== expected.payee.toLowerCase()) {
    return new TermsRefused('wrong_payee', own`the payee is not the expected one`);
  }
  if (offer.amountUnits !== expected.amountUnits) {
    return new TermsRefused('wrong_amount', own`the amount is not the expected ${expected.amountUnits} units`);
  }
  if (offer.maxTimeoutSeconds < 1 || offer.maxTimeoutSeconds > LONGEST_WINDOW_SECONDS) {
    return new TermsRefused('window_too_long', own`the window is not 1 to ${LONGEST_WINDOW_SECONDS} seconds`);
  }
  // Only a transfer with authorization of this very token can be signed here; the domain is ours, never the market's word.
  const method = extra['assetTransferMethod'] ?? 'eip3009';
  if (method !== 'eip3009') return new TermsRefused('wrong_scheme', own`the transfer method is not eip3009`);
  const sameDomain =
    (extra['name'] ?? network.domainName) === network.domainName &&
    (extra['version'] ?? network.domainVersion) === network.domainVersion;
  return sameDomain ? null : new TermsRefused('wrong_domain', own`the signing domain is not that of USDC`);
}

export type X402Version = 1 | 2;

const units = z.string().regex(/^(?:0|[1-9]\d{0,38})$/);
const shared = {
  scheme: z.string(),
  network: z.string(),
  asset: z.string(),
  payTo: z.string(),
  maxTimeoutSeconds: z.int(),
  extra: z.record(z.string(), z.unknown()).optional(),
};
const entryV1 = z.looseObject({ ...shared, maxAmountRequired: units });
const entryV2 = z.looseObject({ ...shared, amount: units });
const requiredV1 = z.looseObject({ x402Version: z.literal(1), accepts: z.array(entryV1).min(1).max(32) });
const requiredV2 = z.looseObject({
  x402Version: z.literal(2),
  resource: z.record(z.string(), z.unknown()).optional(),
  accepts: z.array(entryV2).min(1).max(32),
  extensions: z.record(z.string(), z.unknown()).optional(),
});

/** One way to pay, in words that both versions share. `raw` is the entry as it came: a v2 client sends it back unchanged. */
export interface Offer {
  scheme: string;
  network: string;
  asset: string;
  payTo: string;
  amountUnits: bigint;
  maxTimeoutSeconds: number;
  extra: Readonly<Record<string, unknown>>;
  raw: Readonly<Record<string, unknown>>;
}

export interface PaymentRequired {
  x402Version: X402Version;
  offers: Offer[];
  /** v2 only; sent back unchanged. */
  resource?: Readonly<Record<string, unknown>>;
  extensions?: Readonly<Record<string, unknown>>;
}

/** A 402 answer: what of it matters for x402. */
export interface PaymentRequiredAnswer {
  /** The header PAYMENT-REQUIRED. */
  header: string | null;
  /** The JSON body. */
  body: unknown;
}

/** The terms of a 402. Without a wanted version: v2 where it is offered, else v1. */
export function readPaymentRequired(answer: PaymentRequiredAnswer, wanted?: X402Version): PaymentRequired {
  const version = wanted ?? (answer.header === null ? 1 : 2);
  return version === 2 ? readV2(answer.header) : readV1(answer.body);
}

function readV1(body: unknown): PaymentRequired {
  if (typeof body !== 'object' || body === null || !('accepts' in body)) {
    throw new TermsRefused('version_not_offered', own`the answer carries no terms of x402 v1`);
  }
  const parsed = requiredV1.safeParse(body);
  if (!parsed.success) throw unreadableTerms();
  const offers = parsed.data.accepts.map((raw) => toOffer(raw, raw.maxAmountRequired));
  return { x402Version: 1, offers };
}

function readV2(header: string | null): PaymentRequired {
  if (header === null) throw new TermsRefused('version_not_offered', own`the answer carries no terms of x402 v2`);
  const parsed = requiredV2.safeParse(readHeader(header));
  if (!parsed.success) throw unreadableTerms();
  const { accepts, resource, extensions } = parsed.data;
  return {
    x402Version: 2,
    offers: accepts.map((raw) => toOffer(raw, raw.amount)),
    ...(resource === undefined ? {} : { resource }),
    ...(extensions === undefined ? {} : { extensions }),
  };
}

function toOffer(raw: z.output<typeof entryV1> | z.output<typeof entryV2>, amount: string): Offer {
  const { scheme, network, asset, payTo, maxTimeoutSeconds } = raw;
  return { scheme, network, asset, payTo, maxTimeoutSeconds, amountUnits: BigInt(amount), extra: raw.extra ?? {}, raw };
}

function readHeader(text: string): unknown {
  try {
    return parseJson(new TextDecoder().decode(fromBase64(text)));
  } catch {
    throw unreadableTerms();
  }
}

function unreadableTerms(): TermsRefused {
  return new TermsRefused('unreadable_terms', own`the terms of the 402 cannot be read`);
}
