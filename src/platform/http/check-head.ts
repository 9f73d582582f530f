import type { IncomingMessage } from 'node:http';
import { HEADER_LIMIT_BYTES } from '../../contract/vocabulary.ts';
import { Refusal } from '../refusal.ts';
import type { SecretGuard } from '../secret-guard.ts';
import { guardHead } from './guard-request.ts';
import { splitTarget } from './request-target.ts';

/** Request line and headers as they came over the line: `name: value` and a line end each. */
function headBytes(request: IncomingMessage): number {
  const target = (request.method?.length ?? 0) + (request.url?.length ?? 0) + ' HTTP/1.1  \r\n'.length;
  return request.rawHeaders.reduce((sum, text) => sum + text.length + 2, target);
}

/** What can be said about a request before its body is read. */
export function checkHead(request: IncomingMessage, guard: SecretGuard): void {
  if (headBytes(request) > HEADER_LIMIT_BYTES) throw new Refusal('headers_too_large');
  const target = splitTarget(request.url ?? '/');
  guardHead(guard, target, request.rawHeaders);
  if (target.whole.includes('#'))
    throw new Refusal('malformed_request', { detail: 'An address on the line holds no #.' });
  if (request.httpVersion === '1.1' && request.headers.host === undefined) {
    throw new Refusal('malformed_request', { detail: 'The Host header is missing.' });
  }
  const bodyless = request.method === 'GET' || request.method === 'HEAD';
  if (bodyless && carriesBody(request)) {
    throw new Refusal('malformed_request', { detail: `A ${request.method} request takes no body.` });
  }
}

function carriesBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) !== 0);
}
