import { acceptsDeliveryToken, type EndpointShape, reasonsOf } from './endpoint.ts';
import { ERRORS, type ErrorRow, errorClass, REASONS, type Reason } from './errors.ts';
import type { JsonSchema, SchemaPool } from './json-schemas.ts';
import { challengeFields } from './openapi-payments.ts';

/** Example answers by status, recorded from a running market. */
export type Examples = Readonly<Record<string, unknown>>;

const SUCCESS = { 200: 'Done.', 201: 'Created.', 202: 'In progress; repeat the request as the body says.' } as const;
const header = (name: string): JsonSchema => ({ $ref: `#/components/headers/${name}` });
const REQUEST_ID = { 'x-request-id': header('RequestId') };
const SETTLEMENT = { 'PAYMENT-RESPONSE': header('PaymentResponse'), 'X-PAYMENT-RESPONSE': header('PaymentResponse') };
const TOKEN = { 'X-Delivery-Token': header('DeliveryToken') };
const RETRY = { 'Retry-After': header('RetryAfter') };
const BYTES = { schema: { type: 'string', format: 'binary', description: 'the artifact alone' } };

export const ANSWER_HEADERS: Readonly<Record<string, JsonSchema>> = {
  RequestId: { description: 'Identifies this request in the operator’s log.', schema: { type: 'string' } },
  RetryAfter: {
    description: 'Seconds to wait, equal to retry_after_seconds. Absent if no time is known.',
    schema: { type: 'integer', minimum: 1 },
  },
};

export function describeResponses(endpoint: EndpointShape, pool: SchemaPool, examples: Examples): JsonSchema {
  const refusals = describeRefusals(reasonsOf(endpoint), challengeFields(endpoint), examples);
  return { ...describeAnswers(endpoint, pool, examples), ...refusals };
}

function describeAnswers(endpoint: EndpointShape, pool: SchemaPool, examples: Examples): JsonSchema {
  const always = {
    ...REQUEST_ID,
    ...(endpoint.payment ? SETTLEMENT : {}),
    ...(acceptsDeliveryToken(endpoint) ? TOKEN : {}),
  };
  return Object.fromEntries(
    Object.entries(endpoint.answers).map(([status, schema]) => [
      status,
      {
        description: SUCCESS[Number(status) as keyof typeof SUCCESS],
        headers: { ...always, ...(status === '202' ? RETRY : {}) },
        content: {
          'application/json': { schema: pool.read(schema), ...exampleOf(examples, status) },
          ...(endpoint.bytes && status === '200' ? { 'application/octet-stream': BYTES } : {}),
        },
      },
    ]),
  );
}

function exampleOf(examples: Examples, status: string): JsonSchema {
  return examples[status] === undefined ? {} : { example: examples[status] };
}

/** Describes refusals by status. `challenge` contains the extra fields of a 402. */
export function describeRefusals(
  allReasons: readonly Reason[],
  challenge: JsonSchema = {},
  examples: Examples = {},
): JsonSchema {
  const byStatus = new Map<number, Reason[]>();
  for (const reason of allReasons) {
    for (const status of statusesOf(reason, allReasons))
      byStatus.set(status, [...(byStatus.get(status) ?? []), reason]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, reasons]) => [
      status,
      describeRefusal(status, reasons, challenge, exampleOf(examples, `${status}`)),
    ]),
  );
}

/**
 * Lists the statuses with which an endpoint sends a reason; `all` are the reasons of that endpoint. A reason with `of_proof` has only the
 * status of `of_proof` if the endpoint accepts x402 proofs but no claims, and both statuses if it accepts both.
 */
function statusesOf(reason: Reason, all: readonly Reason[]): number[] {
  const { status, of_proof: ofProof }: ErrorRow = ERRORS[reason];
  if (ofProof === undefined || !all.includes('malformed_proof')) return [status];
  return all.includes('intent_not_found') ? [ofProof.status, status] : [ofProof.status];
}

function titleOf(reason: Reason, status: number): string {
  const { title, of_proof: ofProof }: ErrorRow = ERRORS[reason];
  return ofProof?.status === status ? ofProof.title : title;
}

/** Reasons sent with Retry-After, although repeating the same request does not help. */
const TIMED_REASONS: ReadonlySet<Reason> = new Set(['refund_not_found', 'x402_not_offered']);

function describeRefusal(
  status: number,
  reasons: readonly Reason[],
  challenge: JsonSchema,
  example: JsonSchema,
): JsonSchema {
  const isTimed = reasons.some((reason) => TIMED_REASONS.has(reason) || ERRORS[reason].retry.startsWith('same_'));
  const headers = {
    ...REQUEST_ID,
    ...(status === 402 ? { 'PAYMENT-REQUIRED': header('PaymentRequired') } : {}),
    ...(isTimed ? RETRY : {}),
  };
  const fields = { reason: { enum: reasons }, ...(status === 402 ? challenge : {}) };
  return {
    description: reasons.map((reason) => `\`${reason}\`: ${titleOf(reason, status)}.`).join('\n'),
    headers,
    content: {
      'application/problem+json': {
        schema: { allOf: [{ $ref: '#/components/schemas/Problem' }, { type: 'object', properties: fields }] },
        ...example,
      },
    },
  };
}

/** JSON Schema of `Problem` in errors.ts. */
export function problemSchema(): JsonSchema {
  const text = { type: 'string' };
  return {
    type: 'object',
    description: 'A refused request (RFC 9457). Some routes add fields.',
    properties: {
      type: { type: 'string', format: 'uri', description: 'page that explains this reason' },
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
      do_not_pay_again: { type: 'boolean', description: 'in every answer about payments: true if a payment may exist' },
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
