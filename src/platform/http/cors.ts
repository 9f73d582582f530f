/** On every answer, whatever it is, in addition to its request id. */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

export function commonHeaders(requestId: string): Record<string, string> {
  return { 'x-request-id': requestId, ...COMMON_HEADERS };
}

const EXPOSED = [
  'x-request-id',
  'retry-after',
  'etag',
  'payment-required',
  'payment-response',
  'x-payment-response',
].join(', ');

const ACCEPTED = [
  'authorization',
  'content-type',
  'if-none-match',
  'last-event-id',
  'mcp-protocol-version',
  'payment-signature',
  'x-payment',
  'x-delivery-token',
  'x-recovery-slip',
].join(', ');

const PREFLIGHT_SECONDS = 600;

/** For answers that scripts of any origin may read. Credentials are never allowed: there are none but the key a caller sends itself. */
export const CORS_HEADERS: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': EXPOSED,
};

export function preflightHeaders(methods: readonly string[]): Record<string, string> {
  return {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': ACCEPTED,
    'access-control-max-age': String(PREFLIGHT_SECONDS),
  };
}
