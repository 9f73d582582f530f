import { Refusal } from '../refusal.ts';
import type { SecretGuard } from '../secret-guard.ts';
import { PAYMENT_HEADER_NAMES } from './payment-headers.ts';
import type { Target } from './request-target.ts';

/**
 * Whether address or headers hold a secret. Authorization is left out: where a route takes a key it is the key's own place, elsewhere
 * nobody reads it.
 */
export function secretInHead(guard: SecretGuard, target: Target, rawHeaders: readonly string[]): boolean {
  return secretInTarget(guard, target) || secretInHeaders(guard, rawHeaders);
}

function secretInTarget(guard: SecretGuard, { whole, query }: Target): boolean {
  if (whole.length < guard.shortest) return false;
  if (secretInPiece(guard, whole)) return true;
  // Names and values of the query, one by one: each may be base64 of a secret.
  for (let from = 0, at = 0; at <= query.length; at += 1) {
    const ends = at === query.length || query[at] === '&' || query[at] === '=';
    if (!ends) continue;
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
    const own = name === 'x-delivery-token' ? 'dt' : undefined;
    if (guard.inText(text, own) || (isPaymentHeader(name) && guard.inValue(decodedJson(text)))) return true;
  }
  return false;
}

/** The body as it was read, or its bytes where it could not be. */
export function guardBody(guard: SecretGuard, body: unknown, ownPlaces: readonly string[] | undefined): void {
  const found =
    body instanceof Uint8Array ? guard.inText(Buffer.from(body).toString('latin1')) : guard.inValue(body, ownPlaces);
  if (found) throw new Refusal('secret_in_payload');
}

// A secret is ASCII, so bytes may stand for characters and a malformed rest does no harm.
function percentDecoded(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function isPaymentHeader(name: string): boolean {
  return PAYMENT_HEADER_NAMES.some((known) => known === name);
}

/** JSON may spell a secret with escapes that a search of its text would miss. */
function decodedJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64').toString('utf8'));
    return value;
  } catch {
    return null;
  }
}
