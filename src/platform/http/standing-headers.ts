/** On every answer, whatever it is, beside its request id. */
export const STANDING_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

export function standingHeaders(requestId: string): Record<string, string> {
  return { 'x-request-id': requestId, ...STANDING_HEADERS };
}
