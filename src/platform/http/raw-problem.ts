import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Refusal } from '../refusal.ts';
import { buildProblem, type ProblemContext } from './problem.ts';
import { standingHeaders } from './standing-headers.ts';

/** What Node's parser could not read, as a row of the table. */
export function refuseUnparsed(code: string | undefined): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') return new Refusal('headers_too_large');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Refusal('request_timeout');
  return new Refusal('malformed_request', { detail: 'The request is not valid HTTP.' });
}

/** A whole answer as text, for a connection that has no request object yet. */
export function rawProblem(refusal: Refusal, context: ProblemContext): string {
  const problem = buildProblem(refusal, context);
  const headers = {
    ...standingHeaders(context.requestId),
    ...problem.headers,
    'content-length': String(Buffer.byteLength(problem.body)),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ''}\r\n${lines.join('')}\r\n${problem.body}`;
}

/** Says the last word and lets the client read it: closing at once on unread input would take the answer back. */
export function endWith(socket: Socket, text: string, linger: Promise<void>): void {
  socket.removeAllListeners('data');
  socket.end(text);
  socket.resume();
  void linger.then(() => socket.destroy());
}
