const FIXED = [
  "default-src 'none'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
];

/** One for every answer, so that a page which has not changed keeps its ETag. Answers to programs are no scripts: nosniff. */
export const DOCUMENT_POLICY = [...FIXED, "script-src 'self'"].join('; ');

/** For pages whose script reads from this market after it was shown. */
export const READING_POLICY = `${DOCUMENT_POLICY}; connect-src 'self'`;

/** Only the two scripts of this one answer run. */
export function noncePolicy(nonce: string): string {
  return [...FIXED, `script-src 'nonce-${nonce}'`].join('; ');
}
