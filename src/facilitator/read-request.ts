import type { PaymentPayload, PaymentRequirements } from '@x402/core/types';
import { z } from 'zod';
import type { Network } from '../contract/vocabulary.ts';
import type { Authorization } from '../platform/chain/shapes.ts';
import { type Hex, isHex } from '../platform/hex.ts';

export type Version = 1 | 2;

/** A payment of either protocol version. Both sign the same object, so the rest of the code settles them alike. */
export interface PaymentRequest {
  version: Version;
  /** As the caller wrote it, to repeat in the answer. */
  payer: string;
  authorization: Authorization;
  signature: Hex;
  payload: PaymentPayload;
  requirements: PaymentRequirements;
}

export interface UnacceptableRequest {
  /** 400: not a request of this protocol. 200: well-formed, but refused. */
  status: 200 | 400;
  version: Version;
  reason: string;
  message: string;
  payer?: string;
}

/** Contract wallets have long signatures, but no honest one is nearly this long. */
const SIGNATURE_LIMIT_BYTES = 4_096;
const ERC6492_SUFFIX = '6492'.repeat(16);
/** Fields of the protocol's other payment methods on EVM chains. */
const OTHER_PAYLOADS = ['permit2Authorization', 'delegationManager', 'permissionContext', 'delegator', 'transaction'];

const hexOf = (pattern: RegExp) =>
  z
    .string()
    .max(2 + 2 * SIGNATURE_LIMIT_BYTES)
    .regex(pattern)
    .transform((text) => text.toLowerCase())
    .pipe(z.custom<Hex>((value) => isHex(value)));
const address = hexOf(/^0x[0-9a-fA-F]{40}$/);
const decimal = z
  .string()
  .regex(/^\d{1,39}$/)
  .transform(BigInt);

const eip3009 = z.strictObject({
  signature: hexOf(/^0x(?:[0-9a-fA-F]{2})+$/),
  authorization: z.strictObject({
    from: address,
    to: address,
    value: decimal,
    validAfter: decimal,
    validBefore: decimal,
    nonce: hexOf(/^0x[0-9a-fA-F]{64}$/),
  }),
});

const terms = {
  asset: address,
  payTo: address,
  maxTimeoutSeconds: z.number().positive().max(1e9),
  extra: z
    .looseObject({
      name: z.string().optional(),
      version: z.string().optional(),
      assetTransferMethod: z.string().optional(),
    })
    .nullish(),
};
const termsV1 = z.object({ ...terms, maxAmountRequired: decimal });
const termsV2 = z.object({ ...terms, amount: decimal });
const kind = { scheme: z.string(), network: z.string() };

const envelope = z.discriminatedUnion('x402Version', [
  z.object({
    x402Version: z.literal(1),
    paymentPayload: z.looseObject({ x402Version: z.literal(1), ...kind, payload: z.looseObject({}) }),
    paymentRequirements: z.looseObject(kind),
  }),
  z.object({
    x402Version: z.literal(2),
    paymentPayload: z.looseObject({
      x402Version: z.literal(2),
      accepted: z.looseObject(kind),
      payload: z.looseObject({}),
    }),
    paymentRequirements: z.looseObject(kind),
  }),
]);

type Terms = z.output<typeof termsV2>;
type Sent = z.output<typeof eip3009>;

/** Reads the body of /verify and /settle. Only a payment of exactly the supported form and terms reaches the chain. */
export function readRequest(body: unknown, network: Network): PaymentRequest | UnacceptableRequest {
  const outer = envelope.safeParse(body);
  if (!outer.success) return wrongForm(versionOf(body), outer.error);
  const { x402Version: version, paymentPayload, paymentRequirements } = outer.data;
  const chosen = version === 1 ? outer.data.paymentPayload : outer.data.paymentPayload.accepted;
  const refuse = (reason: string, message: string): UnacceptableRequest => ({ status: 200, version, reason, message });
  if (chosen.scheme !== 'exact' || paymentRequirements.scheme !== 'exact') {
    return refuse('unsupported_scheme', 'only the scheme "exact" is settled here');
  }
  const name = version === 1 ? network.name : network.caip2;
  if (chosen.network !== name || paymentRequirements.network !== name) {
    return refuse('invalid_network', `in version ${version} the network must be "${name}"`);
  }
  if (OTHER_PAYLOADS.some((field) => Object.hasOwn(paymentPayload.payload, field))) {
    return refuse('unsupported_payload_type', 'only EIP-3009 authorizations are settled here');
  }
  const required = readTerms(version, paymentRequirements);
  if ('error' in required) return wrongForm(version, required.error, 'paymentRequirements');
  const accepted = version === 1 ? required : readTerms(version, chosen);
  if ('error' in accepted) return wrongForm(version, accepted.error, 'paymentPayload', 'accepted');
  const sent = eip3009.safeParse(paymentPayload.payload);
  if (!sent.success) return wrongForm(version, sent.error, 'paymentPayload', 'payload');
  const payer = payerOf(paymentPayload.payload);
  const problem: Problem | null = sameTerms(required, accepted)
    ? findProblem(sent.data, required, network)
    : ['invalid_payment_requirements', 'the accepted terms are not the required ones'];
  if (problem !== null) return { ...refuse(...problem), payer };
  return { version, payer, ...sent.data, ...asVersion2(sent.data, required, network) };
}

function readTerms(version: Version, requirements: unknown): Terms | { error: z.ZodError } {
  if (version === 2) {
    const read = termsV2.safeParse(requirements);
    return read.success ? read.data : { error: read.error };
  }
  const read = termsV1.safeParse(requirements);
  if (!read.success) return { error: read.error };
  const { maxAmountRequired, ...rest } = read.data;
  return { ...rest, amount: maxAmountRequired };
}

function sameTerms(a: Terms, b: Terms): boolean {
  return a.amount === b.amount && a.asset === b.asset && a.payTo === b.payTo;
}

type Problem = [reason: string, message: string];

function findProblem(sent: Sent, required: Terms, network: Network): Problem | null {
  const { authorization, signature } = sent;
  const extra = required.extra ?? {};
  if (required.asset !== network.usdc) return ['invalid_payment_requirements', `the asset must be ${network.usdc}`];
  if ((extra.assetTransferMethod ?? 'eip3009') !== 'eip3009') {
    return ['unsupported_payload_type', 'only EIP-3009 authorizations are settled here'];
  }
  if (extra.name === undefined || extra.version === undefined) {
    return ['invalid_exact_evm_missing_eip712_domain', "extra must hold the token's name and version"];
  }
  if (extra.name !== network.domainName) {
    return ['invalid_exact_evm_token_name_mismatch', `extra.name must be "${network.domainName}"`];
  }
  if (extra.version !== network.domainVersion) {
    return ['invalid_exact_evm_token_version_mismatch', `extra.version must be "${network.domainVersion}"`];
  }
  if (authorization.value === 0n || required.amount === 0n) {
    return ['invalid_exact_evm_authorization_value', 'a payment of 0 is not settled'];
  }
  if (authorization.to !== required.payTo) {
    return ['invalid_exact_evm_recipient_mismatch', 'the authorization pays another address than payTo'];
  }
  if (authorization.value !== required.amount) {
    return ['invalid_exact_evm_payload_authorization_value_mismatch', 'the value must equal the required amount'];
  }
  // An ERC-6492 signature asks the facilitator to call a contract of the payer's choice first.
  if (signature.endsWith(ERC6492_SUFFIX)) {
    return ['eip6492_factory_not_allowed', 'wallets that are not deployed yet are not served here'];
  }
  return null;
}

function asVersion2(sent: Sent, required: Terms, network: Network) {
  const { authorization, signature } = sent;
  const requirements: PaymentRequirements = {
    scheme: 'exact',
    network: network.caip2,
    asset: network.usdc,
    amount: required.amount.toString(),
    payTo: required.payTo,
    maxTimeoutSeconds: required.maxTimeoutSeconds,
    extra: { name: network.domainName, version: network.domainVersion },
  };
  const numbers = {
    value: authorization.value.toString(),
    validAfter: authorization.validAfter.toString(),
    validBefore: authorization.validBefore.toString(),
  };
  const payload: PaymentPayload = {
    x402Version: 2,
    accepted: requirements,
    payload: { signature, authorization: { ...authorization, ...numbers } },
  };
  return { payload, requirements };
}

function wrongForm(version: Version, error: z.ZodError, ...within: string[]): UnacceptableRequest {
  const [issue] = error.issues;
  // Report only the field's path, because the value comes from outside.
  const path = [...within, ...(issue?.path ?? [])].map(String);
  const reason =
    path[0] === 'x402Version'
      ? 'invalid_x402_version'
      : path[0] === 'paymentRequirements'
        ? 'invalid_payment_requirements'
        : 'invalid_payload';
  const field = path.length === 0 ? 'the body' : path.join('.');
  return { status: 400, version, reason, message: `${field} is missing or has the wrong form` };
}

function versionOf(body: unknown): Version {
  return typeof body === 'object' && body !== null && 'x402Version' in body && body.x402Version === 1 ? 1 : 2;
}

function payerOf(payload: Record<string, unknown>): string {
  const { authorization } = payload;
  if (typeof authorization !== 'object' || authorization === null || !('from' in authorization)) return '';
  return typeof authorization.from === 'string' ? authorization.from : '';
}
