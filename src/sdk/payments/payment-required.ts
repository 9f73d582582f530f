import type { Hex } from 'viem';
import { z } from 'zod';
import { named, own } from '../../contract/own-words.ts';
import { NETWORKS, type Network } from '../../contract/vocabulary.ts';
import { fromBase64 } from '../base64.ts';
import { parseJson } from '../parse-json.ts';
import { TermsRefused } from './payment-errors.ts';

/** With a longer window the market could execute the payment long after the purchase. */
const LONGEST_WINDOW_SECONDS = 600;

/** Payment that the buyer agreed to before asking the market. */
export interface ExpectedPayment {
  payee: Hex;
  amountUnits: bigint;
  network: Network['name'];
}

/**
 * Returns the offer that asks for exactly the expected payment: scheme exact, expected network, its native USDC, payee and amount, and a
 * window of at most 600 seconds. Throws `TermsRefused` if there is none, before anything is signed.
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
  const networkName = required.x402Version === 1 ? network.name : network.caip2;
  if (offer.scheme !== 'exact') return new TermsRefused('wrong_scheme', own`the scheme isn’t exact`);
  if (offer.network !== networkName)
    return new TermsRefused('wrong_network', own`the network isn’t ${named(network.name)}`);
  if (offer.asset.toLowerCase() !== network.usdc) {
    return new TermsRefused('wrong_asset', own`the asset isn’t native USDC on ${named(network.name)}`);
  }
  if (offer.payTo.toLowerCase() !== expected.payee.toLowerCase()) {
    return new TermsRefused('wrong_payee', own`the payee isn’t the expected one`);
  }
  if (offer.amountUnits !== expected.amountUnits) {
    return new TermsRefused('wrong_amount', own`the amount isn’t the expected ${expected.amountUnits} units`);
  }
  if (offer.maxTimeoutSeconds < 1 || offer.maxTimeoutSeconds > LONGEST_WINDOW_SECONDS) {
    return new TermsRefused('window_too_long', own`the window isn’t 1 to ${LONGEST_WINDOW_SECONDS} seconds`);
  }
  // Only a TransferWithAuthorization of this token can be signed. The signing domain is ours, never the market's.
  const method = extra['assetTransferMethod'] ?? 'eip3009';
  if (method !== 'eip3009') return new TermsRefused('wrong_scheme', own`the transfer method isn’t eip3009`);
  const sameDomain =
    (extra['name'] ?? network.domainName) === network.domainName &&
    (extra['version'] ?? network.domainVersion) === network.domainVersion;
  return sameDomain ? null : new TermsRefused('wrong_domain', own`the signing domain isn’t USDC’s`);
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

/** One way to pay, with fields common to both versions. `raw` is the unchanged entry, which v2 clients send back. */
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
  /** v2 only. Sent back unchanged. */
  resource?: Readonly<Record<string, unknown>>;
  extensions?: Readonly<Record<string, unknown>>;
}

export interface PaymentRequiredAnswer {
  /** Value of PAYMENT-REQUIRED. */
  header: string | null;
  body: unknown;
}

/** Parses the terms of a 402. Default version: v2 if offered, else v1. */
export function readPaymentRequired(answer: PaymentRequiredAnswer, wanted?: X402Version): PaymentRequired {
  const version = wanted ?? (answer.header === null ? 1 : 2);
  return version === 2 ? readV2(answer.header) : readV1(answer.body);
}

function readV1(body: unknown): PaymentRequired {
  if (typeof body !== 'object' || body === null || !('accepts' in body)) {
    throw new TermsRefused('version_not_offered', own`the answer has no x402 v1 terms`);
  }
  const parsed = requiredV1.safeParse(body);
  if (!parsed.success) throw unreadableTerms();
  const offers = parsed.data.accepts.map((raw) => toOffer(raw, raw.maxAmountRequired));
  return { x402Version: 1, offers };
}

function readV2(header: string | null): PaymentRequired {
  if (header === null) throw new TermsRefused('version_not_offered', own`the answer has no x402 v2 terms`);
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
  return new TermsRefused('unreadable_terms', own`the 402’s terms can’t be read`);
}
