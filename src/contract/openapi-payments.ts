import { AUTHORIZATION_TYPES } from './authorization-types.ts';
import { checksummed } from './chain-values.ts';
import { type EndpointShape, takesSlip, takesToken } from './endpoint.ts';
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

/** What of a description is about money: headers, the schemas of x402, and what a wallet signs. */

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
/** All fields are always there, but for those that are named. */
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
  description: 'validBefore: now and so many seconds',
};
const RESOURCE = record('what is paid for', {
  url: { type: 'string', format: 'uri' },
  description: text('the words of this market'),
  mimeType: text(),
});

/** The schemas of x402 under components, in both versions as this market speaks them. */
export const X402_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  X402RequirementsV1: record('One transfer that may be signed, in version 1 of x402.', {
    scheme: one('exact'),
    network: NAMES,
    maxAmountRequired: digits(`the exact amount to sign, ${UNITS}`),
    resource: { type: 'string', format: 'uri', description: 'the request that is paid for' },
    description: text('the words of this market'),
    mimeType: text(),
    outputSchema: { type: 'object' },
    payTo: address('to: the seller, or the treasury for a listing fee'),
    maxTimeoutSeconds: TIMEOUT,
    asset: address('verifyingContract: native USDC'),
    extra: DOMAIN,
  }),
  X402RequirementsV2: record('The same transfer, in version 2 of x402.', {
    scheme: one('exact'),
    network: CHAINS,
    amount: digits(`the exact amount to sign, ${UNITS}`),
    asset: address('verifyingContract: native USDC'),
    payTo: address('to: the seller, or the treasury for a listing fee'),
    maxTimeoutSeconds: TIMEOUT,
    extra: DOMAIN,
  }),
  X402Challenge: record(
    'The content of PAYMENT-REQUIRED, which is version 2 of x402.',
    {
      x402Version: one(2),
      error: text(),
      resource: RESOURCE,
      accepts: { type: 'array', items: ref('X402RequirementsV2') },
      extensions: { type: 'object' },
    },
    ['extensions'],
  ),
  X402Authorization: record('What was signed (EIP-3009); numbers are decimal text.', {
    from: address('the paying wallet'),
    to: address('payTo'),
    value: digits(UNITS),
    validAfter: digits('seconds since 1970'),
    validBefore: digits(
      `seconds since 1970, ${AUTHORIZATION_MIN_AHEAD_SECONDS} to ${AUTHORIZATION_MAX_AHEAD_SECONDS} seconds ahead`,
    ),
    nonce: bytes32('32 random bytes'),
  }),
  X402SignedTransfer: record('The transfer and its signature.', {
    signature: { ...text('of the typed data in x-openaisle-signing'), pattern: '^0x(?:[0-9a-fA-F]{2})+$' },
    authorization: ref('X402Authorization'),
  }),
  X402ProofV1: record('The content of X-PAYMENT.', {
    x402Version: one(1),
    scheme: one('exact'),
    network: NAMES,
    payload: ref('X402SignedTransfer'),
  }),
  X402ProofV2: record(
    'The content of PAYMENT-SIGNATURE. resource and extensions are those of the challenge.',
    {
      x402Version: one(2),
      resource: RESOURCE,
      accepted: ref('X402RequirementsV2'),
      payload: ref('X402SignedTransfer'),
      extensions: { type: 'object' },
    },
    ['resource', 'extensions'],
  ),
  X402Settlement: record('The content of PAYMENT-RESPONSE and of X-PAYMENT-RESPONSE.', {
    success: { type: 'boolean', const: true },
    transaction: bytes32('hash of the transaction'),
    network: text('as the version of x402 calls it'),
    payer: address('the paying wallet'),
  }),
};

/** Base64 of JSON, as x402 puts it into headers. */
const encoded = (schema: string): JsonSchema => ({
  type: 'string',
  maxLength: HEADER_LIMIT_BYTES,
  contentEncoding: 'base64',
  contentMediaType: 'application/json',
  contentSchema: ref(schema),
});

const AT_MOST_ONE = 'At most one proof, once; never both versions.';

/** Headers of a request that may pay. */
const PROOFS: readonly JsonSchema[] = [
  {
    ...{ name: 'X-PAYMENT', in: 'header', required: false, schema: encoded('X402ProofV1') },
    description: `A proof of x402 version 1: base64 of its JSON. ${AT_MOST_ONE}`,
  },
  {
    ...{ name: 'PAYMENT-SIGNATURE', in: 'header', required: false, schema: encoded('X402ProofV2') },
    description: `A proof of x402 version 2: base64 of its JSON. ${AT_MOST_ONE}`,
  },
];

const TOKEN: JsonSchema = {
  ...{ name: 'X-Delivery-Token', in: 'header', required: false, schema: { type: 'string' } },
  description:
    'Collects what it was sent or given with: a token of the client’s own, or the one in the answer that opened the payment.',
};

const SLIP: JsonSchema = {
  ...{ name: 'X-Recovery-Slip', in: 'header', required: false },
  schema: { type: 'string', maxLength: HEADER_LIMIT_BYTES },
  description: 'recovery_slip of an earlier answer, once the market has lost a part of its history.',
};

/** Headers that an endpoint reads, where they have an effect. */
export function paymentParameters(endpoint: EndpointShape): JsonSchema[] {
  return [
    ...(endpoint.payment ? PROOFS : []),
    ...(takesToken(endpoint) ? [TOKEN] : []),
    ...(takesSlip(endpoint) ? [SLIP] : []),
  ];
}

/** Under components. */
export const PAYMENT_HEADERS: Readonly<Record<string, JsonSchema>> = {
  PaymentRequired: { description: 'Base64 of the x402 version 2 challenge.', schema: encoded('X402Challenge') },
  PaymentResponse: {
    description: 'Base64 of the settlement, once there is one. X-PAYMENT-RESPONSE names the network as version 1 does.',
    schema: encoded('X402Settlement'),
  },
  DeliveryToken: {
    description:
      'delivery_token once more, given once with the payment that it collects: bytes alone have no body for it.',
    schema: text(),
  },
};

const USDC = { type: 'number', description: 'with insufficient_funds, in USDC' };

/** Of a 402, in addition to the fields of every problem; absent where there is nothing to sign. */
const CHALLENGE_FIELDS: Readonly<Record<string, JsonSchema>> = {
  x402Version: one(1),
  accepts: { type: 'array', description: 'what may be signed', items: ref('X402RequirementsV1') },
  balance_usdc: USDC,
  price_usdc: USDC,
  market_time: {
    type: 'string',
    format: 'date-time',
    description: 'with payment_invalid where its times are at fault: the time of the market',
  },
  delegate: {
    anyOf: [
      address('with payer_contract_refused: where the payer’s address delegates to (EIP-7702)'),
      { type: 'null' },
    ],
  },
};

/** The same where goods are bought. */
const PURCHASE_FIELDS: Readonly<Record<string, JsonSchema>> = {
  delivery_token_prefix: text('without a key: how a delivery token of the client’s own begins'),
  collect: record(
    'with {"collect": true}: what to sign to collect; x-openaisle-signing.collect says how. It moves nothing',
    {
      base_url: text('of the market, as it stands in the text of the nonce'),
      chain_id: { type: 'integer' },
      listing_id: { type: 'integer' },
      to: address('the seller'),
      value: one('0'),
      nonce_of: { type: 'array', description: 'the lines of the text of the nonce', items: text() },
    },
  ),
};

export function challengeFields(endpoint: Pick<EndpointShape, 'errors'>): JsonSchema {
  return { ...CHALLENGE_FIELDS, ...(takesToken(endpoint) ? PURCHASE_FIELDS : {}) };
}

/** What a wallet signs here and how, for programs: the value of the extension `x-openaisle-signing`. */
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
        validBefore: 'now in seconds since 1970, and maxTimeoutSeconds',
        nonce: '32 random bytes',
      },
      sent_as: { 'X-PAYMENT': ref('X402ProofV1'), 'PAYMENT-SIGNATURE': ref('X402ProofV2') },
    },
    collect: {
      method: 'eth_signTypedData_v4',
      like: 'payment, with value 0 and this nonce: it moves nothing',
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

/** The same in prose, for the tags that speak of money. */
export const HOW_TO_SIGN = [
  'To pay by x402, send the request without a proof and read the 402. Sign the typed data `TransferWithAuthorization` of the USDC contract',
  '(`x-openaisle-signing.payment` has domain and types): `to` is `payTo`, `value` the amount asked for, `validBefore` now and',
  '`maxTimeoutSeconds`, `nonce` 32 random bytes. Send the same request again with the proof, and that proof alone until it is decided.',
  'To pay by an ordinary transfer, open an intent, sign its `challenge` with `personal_sign`, make the transfer, and claim.',
].join(' ');
