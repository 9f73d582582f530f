import { expect } from 'vitest';
import { type EndpointShape, reasonsOf } from '../../src/contract/endpoint.ts';
import { ERRORS, errorClass, type Reason } from '../../src/contract/errors.ts';
import { BASE_URL } from './market-world.ts';

/** An answer as it came over the line. */
export interface SentAnswer {
  status: number;
  headers: Headers;
  text: string;
}

/** Stands in the artifact of every listing that a test of refusals seeds. */
export const CANARY = 'CANARY-hidden-goods';

/** Everything that the table and W2 say of a refusal; hands out its body. */
export function expectRefusal(answer: SentAnswer, reason?: Reason): Record<string, unknown> {
  const { status, headers, text } = answer;
  const problem: Record<string, unknown> =
    headers.get('content-type') === 'application/problem+json' ? JSON.parse(text) : {};
  expect({ status, reason: problem['reason'] }, text.slice(0, 500)).toEqual({
    status: expect.any(Number),
    reason: reason ?? expect.any(String),
  });
  const given = problem['reason'] as Reason;
  const row = ERRORS[given];
  expect(status).toBe(row.status);
  expect(status, text).toBeLessThan(500);
  expect(problem).toMatchObject({
    type: `${BASE_URL}/docs/errors/${given}`,
    title: row.title,
    status: row.status,
    detail: expect.stringMatching(/\S/),
    error: problem['detail'],
    error_class: errorClass(row.status),
    next_step: expect.stringMatching(/\S/),
    request_id: headers.get('x-request-id'),
    retry: row.retry,
  });
  expect(problem['request_id']).toMatch(/^[0-9a-f-]{36}$/);
  expect(headers.get('retry-after')).toBe(problem['retry_after_seconds']?.toString() ?? null);
  if (status === 401) expect(headers.get('www-authenticate')).toBe('Bearer');
  expect(text + JSON.stringify([...headers])).not.toContain(CANARY);
  return problem;
}

/** A client generated from the contract must not meet a refusal that the contract does not name for that endpoint. */
export function expectDeclared(endpoint: EndpointShape, answer: SentAnswer): SentAnswer {
  if (answer.status >= 300) expect(reasonsOf(endpoint), endpoint.name).toContain(JSON.parse(answer.text).reason);
  return answer;
}
