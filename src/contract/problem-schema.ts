import { ERRORS, errorClass, REASONS } from './errors.ts';
import type { JsonSchema } from './json-schemas.ts';

/** The Problem type of errors.ts as JSON Schema. */
export function problemSchema(): JsonSchema {
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
