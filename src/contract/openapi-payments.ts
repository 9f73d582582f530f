import { AUTHORIZATION_TYPES } from './authorization-types.ts';
import { checksummed } from './chain-values.ts';
import { acceptsDeliveryToken, acceptsRecoverySlip, type EndpointShape } from './endpoint.ts';
import type { JsonSchema } from './json-schemas.ts';
import type { Network } from './networks.ts';
import {
  AUTHORIZATION_MAX_AHEAD_SECONDS,
  AUTHORIZATION_MIN_AHEAD_SECONDS,
  HEADER_LIMIT_BYTES,
  MAX_TIMEOUT_SECONDS,
  NETWORK_NAMES,
  NETWORKS,
} from './vocabulary.ts';

const text = (description?: string): JsonSchema => ({
  type: 'string',
  ...(description === undefined ? {} : { description }),
});
const address = (description: string): JsonSchema => ({ ...text(description), pattern: '^0x[0-9a-fA-F]{40}$' });
const bytes32 = (description: string): JsonSchema => ({ ...text(description), pattern: '^0x[0-9a-fA-F]{64}$' });
const digits = (description: string): JsonSchema => ({ ...text(description), pattern: '^[0-9]+$' });
const one = (value: string | number): JsonSchema => ({
  type: typeof value === 'number' ? 'integer' : 'string',
  const: value,
});
const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
/** Builds a schema of an object whose fields are all required except those in `absent`. */
const record = (description: string, properties: Record<string, JsonSchema>, absent: string[] = []): JsonSchema => ({
  type: 'object',
  description,
  properties,
  required: Object.keys(properties).filter((name) => !absent.includes(name)),
});

const UNITS = 'in units of 0.000001 USDC';
const NAMES = { type: 'string', enum: NETWORK_NAMES };
const CHAINS = { type: 'string', enum: NETWORK_NAMES.map((name) => NETWORKS[name].caip2) };
const DOMAIN = record('name and version of the EIP-712 domain of the token', { name: text(), version: text() });
const TIMEOUT = {
  type: 'integer',
  const: MAX_TIMEOUT_SECONDS,
  description: 'sign validBefore as now plus this many seconds',
};
const RESOURCE = record('what the payment is for', {
  url: { type: 'string', format: 'uri' },
  description: text('written by this market'),
  mimeType: text(),
});

/** Schemas of x402 version 1 and 2, as this market uses them. */
export const X402_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  X402RequirementsV1: record('A transfer that you may sign, in x402 version 1.', {
    scheme: one('exact'),
    network: NAMES,
    maxAmountRequired: digits(`the exact amount to sign, ${UNITS}`),
    resource: { type: 'string', format: 'uri', description: 'the request that the payment is for' },
    description: text('written by this market'),
    mimeType: text(),
    outputSchema: { type: 'object' },
    payTo: address('to: the seller, or the treasury for a listing fee'),
    maxTimeoutSeconds: TIMEOUT,
    asset: address('verifyingContract: native USDC'),
    extra: DOMAIN,
  }),
  X402RequirementsV2: record('The same transfer, in x402 version 2.', {
    scheme: one('exact'),
    network: CHAINS,
    amount: digits(`the exact amount to sign, ${UNITS}`),
    asset: address('verifyingContract: native USDC'),
    payTo: address('to: the seller, or the treasury for a listing fee'),
    maxTimeoutSeconds: TIMEOUT,
    extra: DOMAIN,
  }),
  X402Challenge: record(
    'Content of PAYMENT-REQUIRED, in x402 version 2.',
    {
      x402Version: one(2),
      error: text(),
      resource: RESOURCE,
      accepts: { type: 'array', items: ref('X402RequirementsV2') },
      extensions: { type: 'object' },
    },
    ['extensions'],
  ),
  X402Authorization: record('The signed authorization (EIP-3009); numbers are decimal text.', {
    from: address('the paying wallet'),
    to: address('payTo'),
    value: digits(UNITS),
    validAfter: digits('seconds since 1970'),
    validBefore: digits(
      `seconds since 1970, ${AUTHORIZATION_MIN_AHEAD_SECONDS} to ${AUTHORIZATION_MAX_AHEAD_SECONDS} seconds ahead`,
    ),
    nonce: bytes32('32 random bytes'),
  }),
  X402SignedTransfer: record('A transfer and its signature.', {
    signature: { ...text('signature of the typed data in x-openaisle-signing'), pattern: '^0x(?:[0-9a-fA-F]{2})+$' },
    authorization: ref('X402Authorization'),
  }),
  X402ProofV1: record('Content of X-PAYMENT.', {
    x402Version: one(1),
    scheme: one('exact'),
    network: NAMES,
    payload: ref('X402SignedTransfer'),
  }),
  X402ProofV2: record(
    'Content of PAYMENT-SIGNATURE. Copy resource and extensions from the challenge.',
    {
      x402Version: one(2),
      resource: RESOURCE,
      accepted: ref('X402RequirementsV2'),
      payload: ref('X402SignedTransfer'),
      extensions: { type: 'object' },
    },
    ['resource', 'extensions'],
  ),
  X402Settlement: record('Content of PAYMENT-RESPONSE and X-PAYMENT-RESPONSE.', {
    success: { type: 'boolean', const: true },
    transaction: bytes32('hash of the transaction'),
    network: text('its name in that version of x402'),
    payer: address('the paying wallet'),
  }),
};

/** Base64 of JSON, as used in x402 headers. */
const encoded = (schema: string): JsonSchema => ({
  type: 'string',
  maxLength: HEADER_LIMIT_BYTES,
  contentEncoding: 'base64',
  contentMediaType: 'application/json',
  contentSchema: ref(schema),
});

const AT_MOST_ONE = 'Send one proof once, never both versions.';

const PROOFS: readonly JsonSchema[] = [
  {
    ...{ name: 'X-PAYMENT', in: 'header', required: false, schema: encoded('X402ProofV1') },
    description: `Proof of x402 version 1: base64 of its JSON. ${AT_MOST_ONE}`,
  },
  {
    ...{ name: 'PAYMENT-SIGNATURE', in: 'header', required: false, schema: encoded('X402ProofV2') },
    description: `Proof of x402 version 2: base64 of its JSON. ${AT_MOST_ONE}`,
  },
];

const TOKEN: JsonSchema = {
  ...{ name: 'X-Delivery-Token', in: 'header', required: false, schema: { type: 'string' } },
  description:
    'Collects the payment it belongs to: send a token of your own with the payment, or use the one in the answer that opened it.',
};

const DOWNLOAD_TOKEN: JsonSchema = {
  ...{ name: 'X-Download-Token', in: 'header', required: false, schema: { type: 'string' } },
  description: 'With collect: download_token of an earlier answer, in place of the payer’s signature.',
};

const SLIP: JsonSchema = {
  ...{ name: 'X-Recovery-Slip', in: 'header', required: false },
  schema: { type: 'string', maxLength: HEADER_LIMIT_BYTES },
  description: 'recovery_slip of an earlier answer, if the market has lost part of its history.',
};

export function paymentParameters(endpoint: EndpointShape): JsonSchema[] {
  return [
    ...(endpoint.payment ? PROOFS : []),
    ...(acceptsDeliveryToken(endpoint) ? [TOKEN, DOWNLOAD_TOKEN] : []),
    ...(acceptsRecoverySlip(endpoint) ? [SLIP] : []),
  ];
}

export const PAYMENT_HEADERS: Readonly<Record<string, JsonSchema>> = {
  PaymentRequired: { description: 'Base64 of the x402 version 2 challenge.', schema: encoded('X402Challenge') },
  PaymentResponse: {
    description: 'Base64 of the settlement, once there is one. X-PAYMENT-RESPONSE uses the network name of version 1.',
    schema: encoded('X402Settlement'),
  },
  DeliveryToken: {
    description:
      'The same as delivery_token, for answers that carry only bytes. Given once, with the payment that it collects.',
    schema: text(),
  },
};

const USDC = { type: 'number', description: 'with insufficient_funds, in USDC' };

/** Additional fields of a 402. Each is sent only if it applies. */
const CHALLENGE_FIELDS: Readonly<Record<string, JsonSchema>> = {
  x402Version: one(1),
  accepts: { type: 'array', description: 'transfers that you may sign', items: ref('X402RequirementsV1') },
  balance_usdc: USDC,
  price_usdc: USDC,
  market_time: {
    type: 'string',
    format: 'date-time',
    description: 'the market’s time, with payment_invalid because of wrong times',
  },
  delegate: {
    anyOf: [
      address('with payer_contract_refused: the contract that the payer’s address delegates to (EIP-7702)'),
      { type: 'null' },
    ],
  },
};

/** Additional fields of a 402 from endpoints that sell goods. */
const PURCHASE_FIELDS: Readonly<Record<string, JsonSchema>> = {
  delivery_token_prefix: text('without a key: prefix of a delivery token that you make yourself'),
  collect: record(
    'with {"collect": true}: what to sign to collect; x-openaisle-signing.collect says how. It moves no money',
    {
      base_url: text('address of the market, as in the text of the nonce'),
      chain_id: { type: 'integer' },
      listing_id: { type: 'integer' },
      to: address('the seller'),
      value: one('0'),
      nonce_of: { type: 'array', description: 'lines of the text that the nonce is made of', items: text() },
    },
  ),
};

export function challengeFields(endpoint: Pick<EndpointShape, 'errors'>): JsonSchema {
  return { ...CHALLENGE_FIELDS, ...(acceptsDeliveryToken(endpoint) ? PURCHASE_FIELDS : {}) };
}

/** Builds the extension `x-openaisle-signing`, which tells programs what a wallet signs and how. */
export function signingOn(network: Network): JsonSchema {
  return {
    payment: {
      method: 'eth_signTypedData_v4',
      standard: 'EIP-712 over EIP-3009, x402 scheme exact',
      domain: {
        name: network.domainName,
        version: network.domainVersion,
        chainId: Number(network.chainId),
        verifyingContract: checksummed(network.usdc),
      },
      primaryType: 'TransferWithAuthorization',
      types: AUTHORIZATION_TYPES,
      message: {
        from: 'the paying wallet',
        to: 'payTo',
        value: 'maxAmountRequired (version 1) or amount (version 2)',
        validAfter: '0',
        validBefore: 'now in seconds since 1970, plus maxTimeoutSeconds',
        nonce: '32 random bytes',
      },
      sent_as: { 'X-PAYMENT': ref('X402ProofV1'), 'PAYMENT-SIGNATURE': ref('X402ProofV2') },
    },
    collect: {
      method: 'eth_signTypedData_v4',
      like: 'payment, with value 0 and this nonce: it moves no money',
      nonce: 'keccak256 of the UTF-8 text',
      text: [
        'openaisle collect',
        '{address of the market}',
        '{chainId}',
        '{listing id}',
        '{payer, lower case}',
        '{collect_salt}',
      ],
      joined_by: '\n',
    },
    claim: {
      method: 'personal_sign',
      standard: 'EIP-191; EIP-1271 for a contract wallet that the intent names',
      text: 'the field challenge of the intent, byte for byte',
      sent_as: 'payer_signature',
    },
  };
}

/** Explains signing in prose, for the tags about payments. */
export const HOW_TO_SIGN = [
  'To pay by x402, send the request without a proof and read the 402. Sign the typed data `TransferWithAuthorization` of the USDC contract',
  '(`x-openaisle-signing.payment` has domain and types): `to` is `payTo`, `value` the requested amount, `validBefore` now plus',
  '`maxTimeoutSeconds`, `nonce` 32 random bytes. Send the same request again with the proof; repeat only that proof until it is decided.',
  'To pay by a plain transfer, open an intent, sign its `challenge` with `personal_sign`, make the transfer, and claim it.',
].join(' ');
