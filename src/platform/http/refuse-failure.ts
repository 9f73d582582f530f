import { Refusal } from '../refusal.ts';

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function statusOf(error: unknown): number {
  return error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : 500;
}

/** What was thrown, as a row of the table; null when it is a bug. */
export function refuseFailure(error: unknown, classify?: (error: unknown) => Refusal | null): Refusal | null {
  if (error instanceof Refusal) return error;
  const known = classify?.(error);
  if (known) return known;
  const code = codeOf(error);
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new Refusal('body_too_large');
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new Refusal('unsupported_media_type');
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') return new Refusal('not_found');
  if (code === 'FST_ERR_BAD_URL') {
    return new Refusal('malformed_request', { detail: 'The address has malformed percent-encoding.' });
  }
  // The client broke off or lied about the length while its body was read.
  const byClient = code.startsWith('FST_ERR_CTP') || code === 'ECONNRESET' || code === 'ABORT_ERR';
  if (byClient && statusOf(error) === 400) return new Refusal('malformed_request', { detail: 'The body broke off.' });
  return null;
}
