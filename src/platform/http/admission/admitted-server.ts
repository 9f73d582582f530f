import { createServer, type RequestListener, type Server, STATUS_CODES } from 'node:http';
import { Refusal } from '../../refusal.ts';
import { endWith } from '../problem.ts';
import { type Admission, type AdmissionOptions, createAdmission } from './admit-requests.ts';

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 72_000;
const TIMEOUT_CHECK_MS = 2_000;
const LINGER_MS = 500;

/** A server under the rules of this folder, for one that brings a framework of its own: fastify's `serverFactory`. */
export function createAdmittedServer(
  options: Omit<AdmissionOptions, 'sayTooSlow'>,
): (answer: RequestListener) => Server & { admission: Admission } {
  const admission = createAdmission({
    ...options,
    sayTooSlow: (socket) => endWith(socket, rawAnswer(new Refusal('request_timeout')), options.clock.sleep(LINGER_MS)),
  });
  return (answer) => {
    const server = createServer({
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    });
    server.on(
      'request',
      admission.guard(server, (request, response) => {
        const refusal = admission.refusalOf(request);
        if (refusal === undefined) return void answer(request, response);
        response.writeHead(refusal.row.status, headersOf(refusal)).end(bodyOf(refusal));
      }),
    );
    return Object.assign(server, { admission });
  };
}

function bodyOf({ reason, row }: Refusal): string {
  return JSON.stringify({ error: reason, message: row.title });
}

function headersOf(refusal: Refusal): Record<string, string> {
  const { retryAfterSeconds } = refusal.options;
  return {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'content-length': String(Buffer.byteLength(bodyOf(refusal))),
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  };
}

function rawAnswer(refusal: Refusal): string {
  const { status } = refusal.row;
  const lines = Object.entries({ ...headersOf(refusal), connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${bodyOf(refusal)}`;
}
