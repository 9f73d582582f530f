import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { HEADER_LIMIT_BYTES } from '../../contract/vocabulary.ts';
import { Refusal } from '../refusal.ts';
import type { SecretGuard } from '../secret-guard.ts';
import { secretInHead } from './guard-request.ts';
import { splitTarget } from './request-target.ts';

/** What is wrong with a request as far as it can be said before its body is read; null: nothing. */
export function faultOfHead(request: IncomingMessage, guard: SecretGuard): Refusal | null {
  const { method, headers } = request;
  if (headBytes(request) > HEADER_LIMIT_BYTES) return new Refusal('headers_too_large');
  const target = splitTarget(request.url ?? '/');
  if (secretInHead(guard, target, request.rawHeaders)) return new Refusal('secret_in_payload');
  if (target.whole.includes('#')) {
    return new Refusal('malformed_request', { detail: 'An address on the line holds no #.' });
  }
  if (headers.host === undefined && request.httpVersion === '1.1') {
    return new Refusal('malformed_request', { detail: 'The Host header is missing.' });
  }
  if (hostLines(request) > 1) {
    return new Refusal('malformed_request', { detail: 'The Host header was sent more than once.' });
  }
  if ((method === 'GET' || method === 'HEAD') && carriesBody(headers)) {
    return new Refusal('malformed_request', { detail: `A ${method} request takes no body.` });
  }
  return null;
}

export function checkHead(request: IncomingMessage, guard: SecretGuard): void {
  const fault = faultOfHead(request, guard);
  if (fault !== null) throw fault;
}

/** Request line and headers as they came over the line: `name: value` and a line end each. */
function headBytes({ method, url, rawHeaders }: IncomingMessage): number {
  let bytes = (method?.length ?? 0) + (url?.length ?? 0) + ' HTTP/1.1  \r\n'.length;
  for (const text of rawHeaders) bytes += text.length + 2;
  return bytes;
}

const HOST = 'host';

/** Node keeps the first of several; a proxy in front may have gone by another. */
function hostLines({ rawHeaders }: IncomingMessage): number {
  let lines = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === HOST.length && (name === 'Host' || name.toLowerCase() === HOST)) lines += 1;
  }
  return lines;
}

function carriesBody(headers: IncomingHttpHeaders): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) !== 0);
}
