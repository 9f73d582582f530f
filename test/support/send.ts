import { type IncomingMessage, request } from 'node:http';
import { expect } from 'vitest';
import { type EndpointShape, reasonsOf } from '../../src/contract/endpoint.ts';
import { ERRORS, type ErrorRow, errorClass, type Reason } from '../../src/contract/errors.ts';
import { watchAnswer } from './canary.ts';
import { BASE_URL } from './market-world.ts';

/** A response as received. */
export interface SentAnswer {
  status: number;
  headers: Headers;
  text: string;
}

/** Part of the artifact of every listing that a test of refusals seeds. No refusal may contain it. */
export const CANARY = 'CANARY-hidden-goods';

/** Checks a refusal against the table of reasons and the documented form of a problem. Returns its body. */
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
  // A reason may have other fields when it refers to a proof.
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

/** Checks that the contract lists this refusal for the endpoint, because generated clients handle no others. */
export function expectDeclared(endpoint: EndpointShape, answer: SentAnswer): SentAnswer {
  if (answer.status >= 300) expect(reasonsOf(endpoint), endpoint.name).toContain(JSON.parse(answer.text).reason);
  return answer;
}

export interface Sending {
  key?: string;
  /** Text or bytes are sent unchanged, anything else as JSON. */
  body?: unknown;
  /** An array sends the header once per element. */
  headers?: Record<string, string | string[]>;
}

/** Sends exactly this request. Corrects nothing, joins no headers, follows no redirects. */
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
  /** Empty if the response was cut or has no body. */
  text: string;
  bytes: number;
}

/** Sends a request from that client address in 127.0.0.0/8. Each address counts as its own network. */
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
        // Long bodies are counted but not kept.
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

/** Opens an event stream from that address and ignores its data. */
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
