import { checksummed } from '../../../../contract/chain-values.ts';
import type { EndpointShape } from '../../../../contract/endpoint.ts';
import { ERRORS, type Reason } from '../../../../contract/errors.ts';
import { endpoints } from '../../../../contract/index.ts';
import { createSchemaPool, type JsonSchema } from '../../../../contract/json-schemas.ts';
import { MAX_TIMEOUT_SECONDS } from '../../../../contract/vocabulary.ts';
import { Refusal } from '../../../../platform/refusal.ts';
import type { MarketConfig } from '../../../context.ts';
import type { Payment } from '../../payment.ts';
import { requirementOf, type Terms } from '../../terms.ts';

type PaymentRequiredReason = Extract<
  Reason,
  | 'payment_required'
  | 'payment_invalid'
  | 'signature_invalid'
  | 'payer_contract_refused'
  | 'payer_not_deployed'
  | 'insufficient_funds'
  | 'authorization_lapsed'
>;

/**
 * Builds the 402 that asks for a payment, for both versions of x402: version 1 in the body's `accepts`, version 2 in the PAYMENT-REQUIRED
 * header. Use it only where signing a new authorization cannot mean paying twice.
 */
export function paymentRequired(
  config: MarketConfig,
  terms: Terms,
  reason: PaymentRequiredReason,
  detail?: string,
): Refusal {
  const required = requirementOf(terms, config.network, checksummed);
  const error = detail ?? (reason === 'payment_required' ? 'Payment is required.' : `${ERRORS[reason].title}.`);
  const bazaar = describeForBazaar(terms.resource.slice(config.baseUrl.length));
  const header = {
    x402Version: 2,
    error,
    resource: { url: terms.resource, description: terms.description, mimeType: 'application/json' },
    accepts: [required],
    ...(bazaar === null ? {} : { extensions: { bazaar } }),
  };
  return new Refusal(reason, {
    isOfProof: true,
    detail: error,
    fields: { x402Version: 1, accepts: [versionOne(config, terms)] },
    headers: { 'payment-required': Buffer.from(JSON.stringify(header)).toString('base64') },
  });
}

function versionOne(config: MarketConfig, terms: Terms) {
  return {
    scheme: 'exact',
    network: config.network.name,
    maxAmountRequired: terms.valueUnits.toString(),
    resource: terms.resource,
    description: terms.description,
    mimeType: 'application/json',
    outputSchema: { input: { type: 'http', method: 'POST', discoverable: true } },
    payTo: checksummed(terms.payee),
    maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
    asset: checksummed(config.network.usdc),
    extra: { name: config.network.domainName, version: config.network.domainVersion },
  };
}

/** Builds the refusal of an authorization whose payment has ended: unpaid, refunded or declined. */
export function endedRefusal(config: MarketConfig, terms: Terms, ended: Payment | null): Refusal {
  const detail =
    ended?.status === 'rejected'
      ? `That payment was reviewed, and is ${ended.reviewOutcome}.`
      : 'That payment ended unpaid.';
  const refusal = paymentRequired(config, terms, 'authorization_lapsed', detail);
  if (ended?.status !== 'rejected') return refusal;
  const nextStep = 'That authorization pays for nothing here any more. Sign a new one to pay again.';
  return new Refusal(refusal.reason, { ...refusal.options, nextStep });
}

const EXAMPLES: Readonly<Record<string, object>> = {
  buyListing: { max_price_usdc: 5 },
  createListing: {
    title: 'Invoice parser',
    description: 'Reads invoices and answers JSON.',
    preview: 'Tested on 200 invoices.',
    artifact: 'the hidden goods',
    price_usdc: 5,
    seller_wallet: `0x${'1'.repeat(40)}`,
  },
  listWorld: { draft_id: 1, city_offer_id: 1 },
};

type Discovery = JsonSchema & { info: JsonSchema & { input: JsonSchema } };

interface Declared {
  pattern: RegExp;
  discovery: Discovery;
}

let declared: Declared[] | null = null;

/**
 * Describes a paid request for catalogs of paid services (x402's bazaar extension) in the v2 402, derived from the contract. Kept short,
 * because clients return it with their proof in a header. Null for an unknown path.
 */
export function describeForBazaar(path: string): Discovery | null {
  declared ??= Object.values<EndpointShape>(endpoints).filter(isPaid).map(discoveryOf);
  for (const { pattern, discovery } of declared) {
    const match = pattern.exec(path);
    if (match !== null) return withParameters(discovery, match.groups ?? {});
  }
  return null;
}

function isPaid({ payment }: EndpointShape): boolean {
  return payment === true;
}

function discoveryOf(endpoint: EndpointShape): Declared {
  const { name, method, path, body } = endpoint;
  const pool = createSchemaPool();
  const parameters = [...path.matchAll(/:(\w+)/g)].map(([, parameter = '']) => parameter);
  const bodySchema = body === undefined ? { type: 'object' } : dropTexts(pool.sent(body));
  const answer = Object.entries(endpoint.answers).find(([status]) => status === '200')?.[1];
  const output = answer === undefined ? {} : outlineFields(pool.read(answer), pool.components());
  const input = { type: 'http', method, bodyType: 'json', body: EXAMPLES[name] ?? {} };
  const properties = {
    type: { type: 'string', const: 'http' },
    method: { type: 'string', enum: [method] },
    bodyType: { type: 'string', enum: ['json'] },
    body: bodySchema,
    ...(parameters.length === 0 ? {} : { pathParams: parametersSchema(parameters) }),
  };
  return {
    pattern: new RegExp(`^${path.replaceAll(/:(\w+)/g, '(?<$1>[^/]+)')}$`),
    discovery: {
      info: { input, output: { type: 'json' } },
      schema: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: {
          input: { type: 'object', properties, required: Object.keys(properties), additionalProperties: false },
          output: {
            type: 'object',
            properties: { type: { type: 'string' }, example: output },
            required: ['type'],
          },
        },
        required: ['input'],
      },
      ...(parameters.length === 0 ? {} : { routeTemplate: path }),
    },
  };
}

function parametersSchema(names: readonly string[]): JsonSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
    required: names,
  };
}

function withParameters(discovery: Discovery, parameters: Readonly<Record<string, string>>): Discovery {
  if (Object.keys(parameters).length === 0) return discovery;
  const { info } = discovery;
  return { ...discovery, info: { ...info, input: { ...info.input, pathParams: { ...parameters } } } };
}

/** Drops descriptions, patterns and defaults, because clients find them in the OpenAPI document. */
function dropTexts(schema: unknown): JsonSchema {
  return JSON.parse(JSON.stringify(schema, (key, value: unknown) => (isLong(key, value) ? undefined : value)));
}

function isLong(key: string, value: unknown): boolean {
  return key === 'default' || ((key === 'description' || key === 'pattern') && typeof value === 'string');
}

/** Lists the fields of a response and their types, one level deep. */
function outlineFields(schema: JsonSchema, named: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const { type, properties } = resolveSchema(schema, named);
  if (type !== 'object' || typeof properties !== 'object' || properties === null) return { type: 'object' };
  const fields = Object.entries(properties as Record<string, JsonSchema>);
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map(([name, field]) => [name, typeOf(field, named)])),
  };
}

/** Picks the first of several alternatives, which is the answer to a paying caller. */
function resolveSchema(schema: JsonSchema, named: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const { $ref, anyOf } = schema;
  if (typeof $ref === 'string') return resolveSchema(named[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {}, named);
  return Array.isArray(anyOf) ? resolveSchema(anyOf[0] as JsonSchema, named) : schema;
}

function typeOf(schema: JsonSchema, named: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const { type, enum: values } = resolveSchema(schema, named);
  const nullable = Array.isArray(schema['anyOf']) && schema['anyOf'].some((one: JsonSchema) => one['type'] === 'null');
  if (type === undefined) return {};
  return { type: nullable ? [type, 'null'] : type, ...(values === undefined || nullable ? {} : { enum: values }) };
}
