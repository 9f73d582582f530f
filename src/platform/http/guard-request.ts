import { Refusal } from '../refusal.ts';
import type { SecretGuard } from '../secret-guard.ts';
import { PAYMENT_HEADER_NAMES } from './payment-headers.ts';
import type { Target } from './request-target.ts';

/**
 * Address and headers. Authorization is left out: where a route takes a key it is the key's own place, elsewhere nobody reads it.
 */
export function guardHead(guard: SecretGuard, target: Target, rawHeaders: readonly string[]): void {
  const pieces = [target.whole, ...target.query.split(/[&=]/)];
  const inTarget = pieces.some((piece) => guard.inText(piece) || guard.inText(percentDecoded(piece)));
  const inHeaders = rawHeaders.some((text, index) => {
    if (index % 2 === 0) return guard.inText(text);
    const name = rawHeaders[index - 1]?.toLowerCase() ?? '';
    if (name === 'authorization') return false;
    return guard.inText(text) || (isPaymentHeader(name) && guard.inValue(decodedJson(text)));
  });
  if (inTarget || inHeaders) throw new Refusal('secret_in_payload');
}

/** The body as it was read, or its bytes where it could not be. */
export function guardBody(guard: SecretGuard, body: unknown, ownPlaces: readonly string[] | undefined): void {
  const found =
    body instanceof Uint8Array ? guard.inText(Buffer.from(body).toString('latin1')) : guard.inValue(body, ownPlaces);
  if (found) throw new Refusal('secret_in_payload');
}

// A secret is ASCII, so bytes may stand for characters and a malformed rest does no harm.
function percentDecoded(text: string): string {
  if (!text.includes('%')) return text;
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
