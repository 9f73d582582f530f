import type { z } from 'zod';
import { type EndpointShape, reasonsOf } from './endpoint.ts';
import { ERRORS, errorClass, REASONS, type Reason } from './errors.ts';
import { createSchemaPool, type JsonSchema, type SchemaPool } from './json-schemas.ts';
import { API_VERSION } from './vocabulary.ts';

export interface OpenApiOptions {
  endpoints: Readonly<Record<string, EndpointShape>>;
  title: string;
  description: string;
  /** Where this instance is reached. */
  serverUrl: string;
}

/** An OpenAPI 3.1 document. */
export type OpenApi = JsonSchema & { paths: Record<string, Record<string, JsonSchema>> };

/** The interface as a document, made from the descriptors alone. */
export function describeOpenApi(options: OpenApiOptions): OpenApi {
  const pool = createSchemaPool();
  const paths: OpenApi['paths'] = {};
  for (const endpoint of Object.values(options.endpoints)) {
    const path = endpoint.path.replaceAll(/:([a-z_]+)/g, '{$1}');
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: describeEndpoint(endpoint, pool) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: options.title,
      description: options.description,
      version: API_VERSION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: options.serverUrl }],
    paths,
    components: {
      schemas: { ...pool.components(), Problem: problemSchema() },
      securitySchemes: {
        merchantKey: { type: 'http', scheme: 'bearer', description: 'A merchant’s key.' },
      },
      headers: {
        RequestId: { description: 'Names this request in the operator’s log.', schema: { type: 'string' } },
      },
    },
  };
}

const KEY = { merchantKey: [] };

/** No requirement, one that may be left out, or one that must be met. */
function securityOf(auth: EndpointShape['auth']): JsonSchema[] {
  if (auth === 'audit' || auth === 'public') return [];
  return auth === 'key' || auth === 'maintainer' ? [KEY] : [{}, KEY];
}

function describeEndpoint(endpoint: EndpointShape, pool: SchemaPool): JsonSchema {
  const { body } = endpoint;
  return {
    operationId: endpoint.name,
    summary: endpoint.summary,
    security: securityOf(endpoint.auth),
    parameters: [
      ...parametersOf(endpoint.params, 'path', pool),
      ...parametersOf(endpoint.query, 'query', pool),
      ...(endpoint.payment ? PAYMENT_PARAMETERS : []),
    ],
    ...(body
      ? {
          requestBody: {
            required: endpoint.body_optional !== true,
            content: { 'application/json': { schema: pool.sent(body) } },
          },
        }
      : {}),
    responses: { ...describeAnswers(endpoint, pool), ...describeRefusals(endpoint) },
  };
}

const PAYMENT_PARAMETERS = [
  ['X-PAYMENT', 'x402 version 1: base64 of the payment payload. At most one proof, once.'],
  ['PAYMENT-SIGNATURE', 'x402 version 2: base64 of the payment payload. At most one proof, once.'],
  ['X-Delivery-Token', 'The token from the answer to the request that opened the payment.'],
].map(([name, description]) => ({ name, in: 'header', required: false, description, schema: { type: 'string' } }));

function parametersOf(schema: z.ZodType | undefined, place: 'path' | 'query', pool: SchemaPool): JsonSchema[] {
  if (!schema) return [];
  const { properties, required } = pool.sent(schema) as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties ?? {}).map(([name, field]) => ({
    name,
    in: place,
    required: place === 'path' || required?.includes(name) === true,
    schema: field,
  }));
}

const SUCCESS = { 200: 'Done.', 201: 'Made.', 202: 'Under way; ask again as the body says.' } as const;
const REQUEST_ID = { 'x-request-id': { $ref: '#/components/headers/RequestId' } };
const PAYMENT_RESPONSE = { description: 'base64 of the x402 settlement', schema: { type: 'string' } };
const BYTES = { schema: { type: 'string', format: 'binary', description: 'the artifact alone' } };
/** The x402 version 1 form, in addition to the problem's own fields; absent where there is nothing to sign. */
const X402_CHALLENGE = {
  x402Version: { type: 'integer', const: 1 },
  accepts: {
    type: 'array',
    items: {
      type: 'object',
      properties: Object.fromEntries(
        ['scheme', 'network', 'maxAmountRequired', 'resource', 'payTo', 'asset'].map((name) => [
          name,
          { type: 'string' },
        ]),
      ),
    },
    description: 'what may be signed, as in x402 version 1; maxAmountRequired is in units of 0.000001 USDC',
  },
};
const PAYMENT_REQUIRED = { description: 'base64 of the x402 version 2 challenge', schema: { type: 'string' } };

function describeAnswers(endpoint: EndpointShape, pool: SchemaPool): JsonSchema {
  const headers = {
    ...REQUEST_ID,
    ...(endpoint.payment ? { 'PAYMENT-RESPONSE': PAYMENT_RESPONSE, 'X-PAYMENT-RESPONSE': PAYMENT_RESPONSE } : {}),
  };
  return Object.fromEntries(
    Object.entries(endpoint.answers).map(([status, schema]) => [
      status,
      {
        description: SUCCESS[Number(status) as keyof typeof SUCCESS],
        headers,
        content: {
          'application/json': { schema: pool.read(schema) },
          ...(endpoint.bytes && status === '200' ? { 'application/octet-stream': BYTES } : {}),
        },
      },
    ]),
  );
}

function describeRefusals(endpoint: EndpointShape): JsonSchema {
  const byStatus = new Map<number, Reason[]>();
  for (const reason of reasonsOf(endpoint)) {
    const { status } = ERRORS[reason];
    byStatus.set(status, [...(byStatus.get(status) ?? []), reason]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, reasons]) => [
      status,
      {
        description: reasons.map((reason) => `\`${reason}\`: ${ERRORS[reason].title}.`).join('\n'),
        headers: { ...REQUEST_ID, ...(status === 402 ? { 'PAYMENT-REQUIRED': PAYMENT_REQUIRED } : {}) },
        content: {
          'application/problem+json': {
            schema: {
              allOf: [
                { $ref: '#/components/schemas/Problem' },
                { properties: { reason: { enum: reasons }, ...(status === 402 ? X402_CHALLENGE : {}) } },
              ],
            },
          },
        },
      },
    ]),
  );
}

/** The Problem type of errors.ts as JSON Schema. */
function problemSchema(): JsonSchema {
  const text = { type: 'string' };
  return {
    type: 'object',
    description: 'A refused request (RFC 9457). A route may add fields of its own.',
    properties: {
      type: { type: 'string', format: 'uri', description: 'the page that explains this reason' },
      title: text,
      status: { type: 'integer' },
      detail: text,
      reason: { type: 'string', enum: REASONS },
      error_class: { type: 'string', enum: [...new Set(REASONS.map((reason) => errorClass(ERRORS[reason].status)))] },
      error: { type: 'string', description: 'the same text as detail' },
      next_step: text,
      request_id: text,
      retry: { type: 'string', enum: ['same_request', 'same_proof', 'after_fix', 'never'] },
      retry_after_seconds: { type: 'integer', minimum: 1, description: 'equal to the Retry-After header' },
      do_not_pay_again: { type: 'boolean', description: 'on every payment answer: true when a payment may exist' },
      errors: {
        type: 'array',
        items: { type: 'object', properties: { path: text, message: text }, required: ['path', 'message'] },
      },
    },
    required: [
      'type',
      'title',
      'status',
      'detail',
      'reason',
      'error_class',
      'error',
      'next_step',
      'request_id',
      'retry',
    ],
  };
}
