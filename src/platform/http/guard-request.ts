import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { HEADER_LIMIT_BYTES } from '../../contract/vocabulary.ts';
import { Refusal } from '../refusal.ts';
import type { SecretGuard, SecretKind } from '../secrets.ts';
import { PAYMENT_HEADER_NAMES } from './caller-headers.ts';
import { splitTarget, type Target } from './message.ts';

/** Checks a request before its body is read. Returns a refusal, or null. */
export function checkHead(request: IncomingMessage, guard: SecretGuard): Refusal | null {
  const { method, headers } = request;
  if (headBytes(request) > HEADER_LIMIT_BYTES) return new Refusal('headers_too_large');
  const target = splitTarget(request.url ?? '/');
  if (secretInHead(guard, target, request.rawHeaders)) return new Refusal('secret_in_payload');
  if (target.whole.includes('#')) {
    return new Refusal('malformed_request', { detail: 'The address must not contain #.' });
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

/** Returns the size of request line and headers as sent, with `name: value` and a line end each. */
function headBytes({ method, url, rawHeaders }: IncomingMessage): number {
  let bytes = (method?.length ?? 0) + (url?.length ?? 0) + ' HTTP/1.1  \r\n'.length;
  for (const text of rawHeaders) bytes += text.length + 2;
  return bytes;
}

const HOST = 'host';

/** Counts Host headers. Node keeps the first; a proxy in front may have used another one. */
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

/** Returns true if the URL or headers contain a secret. Skips Authorization, where keys belong; routes without keys do not read it. */
export function secretInHead(guard: SecretGuard, target: Target, rawHeaders: readonly string[]): boolean {
  return secretInTarget(guard, target) || secretInHeaders(guard, rawHeaders);
}

function secretInTarget(guard: SecretGuard, { whole, query }: Target): boolean {
  if (whole.length < guard.shortest) return false;
  if (secretInPiece(guard, whole)) return true;
  // Check names and values of the query one by one, because each may be base64 of a secret.
  for (let from = 0, at = 0; at <= query.length; at += 1) {
    const isPieceEnd = at === query.length || query[at] === '&' || query[at] === '=';
    if (!isPieceEnd) continue;
    if (at - from >= guard.shortest && secretInPiece(guard, query.slice(from, at))) return true;
    from = at + 1;
  }
  return false;
}

function secretInPiece(guard: SecretGuard, piece: string): boolean {
  return guard.inText(piece) || (piece.includes('%') && guard.inText(percentDecoded(piece)));
}

function secretInHeaders(guard: SecretGuard, rawHeaders: readonly string[]): boolean {
  for (let index = 0; index < rawHeaders.length; index += 1) {
    const text = rawHeaders[index] ?? '';
    if (text.length < guard.shortest) continue;
    const name = index % 2 === 0 ? '' : (rawHeaders[index - 1] ?? '').toLowerCase();
    if (name === 'authorization') continue;
    if (guard.inText(text, OWN_SECRETS[name]) || (isPaymentHeader(name) && secretInJson(guard, decodedJson(text))))
      return true;
  }
  return false;
}

/** The only kind of secret that a header of this name may hold. */
const OWN_SECRETS: Readonly<Record<string, SecretKind>> = { 'x-delivery-token': 'dt', 'x-download-token': 'dl' };

/** Checks the parsed body, or its bytes if it could not be parsed. */
export function guardBody(guard: SecretGuard, body: unknown, secretFields: readonly string[] | undefined): void {
  const isLeaked =
    body instanceof Uint8Array ? guard.inText(Buffer.from(body).toString('utf8')) : guard.inValue(body, secretFields);
  if (isLeaked) throw new Refusal('secret_in_payload');
}

/**
 * Searches all strings and field names of a JSON value for a secret. Uses a list instead of recursion: deep JSON would overflow the stack,
 * and an exception at this point would end the process.
 */
export function secretInJson(guard: SecretGuard, json: unknown): boolean {
  const left: unknown[] = [json];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value === 'string' && guard.inText(value)) return true;
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, member] of Object.entries(value)) {
      if (!Array.isArray(value) && guard.inText(name)) return true;
      left.push(member);
    }
  }
  return false;
}

// Decodes as UTF-8, like programs that read the URL. A secret is ASCII, so malformed bytes around it do no harm.
function percentDecoded(text: string): string {
  const bytes = text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

function isPaymentHeader(name: string): boolean {
  return PAYMENT_HEADER_NAMES.some((header) => header === name);
}

/** Decodes base64 of JSON, because JSON escapes could hide a secret from a search of the raw text. Null if malformed. */
function decodedJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64').toString('utf8'));
    return value;
  } catch {
    return null;
  }
}
