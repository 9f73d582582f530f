import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { errorClass, type Problem } from '../../contract/errors.ts';
import type { Clock } from '../clock.ts';
import { Refusal } from '../refusal.ts';

export interface ProblemContext {
  requestId: string;
  docsUrl: (reason: string) => string;
  /** Set on routes that take payments or claims of them: every answer there says whether paying again is safe. */
  payment?: { proofSent: boolean };
}

export interface ProblemAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Refusals that come before the ledger is looked at. */
const UNLOOKED: ReadonlySet<number> = new Set([401, 429]);

/** A refusal as it goes out (W2). */
export function buildProblem(refusal: Refusal, context: ProblemContext): ProblemAnswer {
  const { row, options, reason } = refusal;
  const detail = options.detail ?? row.title;
  const retryAfter =
    options.retryAfterSeconds === undefined ? undefined : Math.max(1, Math.ceil(options.retryAfterSeconds));
  // The ledger was not looked at, so the proof that was sent, or the key, may have a payment: unknown is never "safe".
  const unlooked = context.payment && (context.payment.proofSent || row.status >= 500 || UNLOOKED.has(row.status));
  const doNotPayAgain = options.doNotPayAgain ?? row.do_not_pay_again ?? unlooked;
  const problem: Problem = {
    ...options.fields,
    type: context.docsUrl(reason),
    title: row.title,
    status: row.status,
    detail,
    reason,
    error_class: errorClass(row.status),
    error: detail,
    next_step: options.nextStep ?? row.next_step,
    request_id: context.requestId,
    retry: row.retry,
    ...(retryAfter === undefined ? {} : { retry_after_seconds: retryAfter }),
    ...(doNotPayAgain === undefined ? {} : { do_not_pay_again: doNotPayAgain }),
    ...(options.errors === undefined ? {} : { errors: options.errors }),
  };
  return {
    status: row.status,
    headers: {
      ...(row.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...options.headers,
      ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
      'content-type': 'application/problem+json',
      'cache-control': 'private, no-store',
    },
    body: JSON.stringify(problem),
  };
}

/** What Node's parser could not read, as a row of the table. */
export function refuseUnparsed(code: string | undefined): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') return new Refusal('headers_too_large');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Refusal('request_timeout');
  return new Refusal('malformed_request', { detail: 'The request is not valid HTTP.' });
}

/** A whole answer as text, for a connection that has no request object yet. */
export function rawAnswer({ status, headers, body }: ProblemAnswer): string {
  const all = { ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`;
}

const LINGER_MS = 500;

/** Says the last word and lets the client read it: closing at once on unread input would take the answer back. */
export function endWith(socket: Socket, text: string, clock: Clock): void {
  socket.removeAllListeners('data');
  socket.end(text);
  socket.resume();
  void clock.sleep(LINGER_MS).then(() => socket.destroy());
}
