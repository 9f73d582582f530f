/**
 * `no_answer`: none came, or not whole. `redirect`: never followed. `too_large`, `not_json`. `not_a_problem`: a refusal that is not the
 * market's. `unexpected`: not what the contract says.
 */
export type WhyUnreadable = 'no_answer' | 'redirect' | 'too_large' | 'not_json' | 'not_a_problem' | 'unexpected';

/** Nothing is known: the request may have been carried out or not. Repeat it as it was; never pay on the strength of it. */
export class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer';
  readonly why: WhyUnreadable;
  /** Null when no answer came. */
  readonly status: number | null;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;
  readonly doNotPayAgain = true;

  constructor(why: WhyUnreadable, detail: string, seen: { status?: number; headers?: Headers; cause?: unknown } = {}) {
    super(`${detail}; whether the request was carried out is not known`, { cause: seen.cause });
    this.why = why;
    this.status = seen.status ?? null;
    this.requestId = seen.headers?.get('x-request-id') ?? null;
    this.retryAfterSeconds = readRetryAfter(seen.headers);
  }
}

/** Retry-After in whole seconds. Its date form is not used by the market and is ignored. */
export function readRetryAfter(headers: Headers | undefined): number | null {
  const given = headers?.get('retry-after') ?? '';
  return /^\d{1,9}$/.test(given) ? Number(given) : null;
}
