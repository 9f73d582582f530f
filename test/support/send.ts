import { type IncomingMessage, request } from 'node:http';
import { expect } from 'vitest';
import { type EndpointShape, reasonsOf } from '../../src/contract/endpoint.ts';
import { ERRORS, type ErrorRow, errorClass, type Reason } from '../../src/contract/errors.ts';
import { watchAnswer } from './canary.ts';
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
  const table: ErrorRow = ERRORS[given];
  // A reason may have other fields where it is given of a proof.
  const row = status === table.of_proof?.status ? { ...table, ...table.of_proof } : table;
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

export interface Sending {
  key?: string;
  /** Sent as it is; anything but text or bytes as JSON. */
  body?: unknown;
  /** A list sends the header that many times. */
  headers?: Record<string, string | string[]>;
}

/** One request exactly as given: a client that mends nothing, joins no headers and follows nothing. */
export function send(url: string, method: string, path: string, sending: Sending = {}): Promise<SentAnswer> {
  const body = bytesOf(sending.body);
  const headers: Record<string, string | string[]> = { connection: 'close', ...sending.headers };
  if (sending.key !== undefined) headers['authorization'] = `Bearer ${sending.key}`;
  if (body !== null) {
    headers['content-type'] ??= 'application/json';
    headers['content-length'] ??= String(body.length);
  }
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const pairs = response.rawHeaders.flatMap((name, at, all): [string, string][] =>
          at % 2 === 0 ? [[name, all[at + 1] ?? '']] : [],
        );
        const text = Buffer.concat(chunks).toString('utf8');
        const answer = { status: response.statusCode ?? 0, headers: new Headers(pairs), text };
        try {
          watchAnswer({ method, path, asked: sending.body, ...answer });
          resolve(answer);
        } catch (error) {
          reject(error);
        }
      });
    });
    sent.on('error', reject);
    sent.end(body ?? undefined);
  });
}

function bytesOf(body: unknown): Buffer | null {
  if (body === undefined) return null;
  if (body instanceof Uint8Array) return Buffer.from(body);
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

interface AskedFrom {
  method?: string;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
}

export interface AnswerFrom {
  status: number;
  headers: IncomingMessage['headers'];
  /** Empty where the answer was cut or is none. */
  text: string;
  bytes: number;
}

/** A request whose client has that address, one of 127.0.0.0/8: each of them is a network of its own. */
export function askFrom(
  address: string,
  url: string,
  { method = 'GET', body, headers }: AskedFrom = {},
): Promise<AnswerFrom> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? null : JSON.stringify(body);
    const sent = request(url, {
      method,
      localAddress: address,
      agent: false,
      headers: { ...headers, ...(text === null ? {} : { 'content-type': 'application/json' }) },
    });
    sent.once('error', reject);
    sent.once('response', (answer) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength;
        // Long ones are counted and not kept.
        if (bytes < 1_000_000) chunks.push(chunk);
      });
      answer.once('error', reject);
      answer.once('end', () => {
        const { statusCode = 0, headers: heads } = answer;
        resolve({ status: statusCode, headers: heads, text: Buffer.concat(chunks).toString('utf8'), bytes });
      });
    });
    sent.end(text ?? undefined);
  });
}

/** Listens to the log from that address; whatever comes is left alone. */
export function openStream(address: string, url: string): Promise<{ status: number; close(): void }> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/api/events/stream`, { localAddress: address, agent: false });
    sent.once('error', reject);
    sent.once('response', (answer) => {
      answer.on('error', () => {});
      answer.resume();
      resolve({ status: answer.statusCode ?? 0, close: () => void sent.destroy() });
    });
    sent.end();
  });
}
