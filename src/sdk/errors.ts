import { z } from 'zod';
import { codeOut, requestIdForm } from '../contract/answer-forms.ts';
import { ERRORS, type ErrorRow, type Reason } from '../contract/errors.ts';
import { inQuotes } from '../contract/foreign-words.ts';
import { type OwnWords, own } from '../contract/own-words.ts';

export interface MarketErrorParts {
  problem: ReadProblem;
  status: number;
  requestId: string | null;
  retryAfterSeconds: number | null;
  doNotPayAgain: boolean | undefined;
  headers: Headers;
  /** Unparsed, because a 402 has x402 fields beyond our schema. */
  body: unknown;
  deliveryToken: string | null;
}

const LONGEST_DETAIL = 500;

/** The market refused the request and said why. `message` quotes its text; `problem` has it unchanged. */
export class MarketError extends Error {
  override readonly name = 'MarketError';
  readonly reason: AnyReason;
  readonly status: number;
  readonly problem: ReadProblem;
  readonly requestId: string | null;
  /** Seconds; null if the market gave no time. */
  readonly retryAfterSeconds: number | null;
  /** True if a payment exists or may exist. Undefined if neither the answer nor the error table says. */
  readonly doNotPayAgain: boolean | undefined;
  // Private, so that printing the error doesn't show headers or the token.
  readonly #parts: MarketErrorParts;

  constructor(parts: MarketErrorParts) {
    super(`${parts.problem.reason}: ${inQuotes(parts.problem.detail, LONGEST_DETAIL)}`);
    this.reason = parts.problem.reason;
    this.status = parts.status;
    this.problem = parts.problem;
    this.requestId = parts.requestId;
    this.retryAfterSeconds = parts.retryAfterSeconds;
    this.doNotPayAgain = parts.doNotPayAgain;
    this.#parts = parts;
  }

  header(name: string): string | null {
    return this.#parts.headers.get(name);
  }

  body(): unknown {
    return this.#parts.body;
  }

  /** Returns the delivery token, a secret sent once: in the answer to the request without a key that opened a payment. */
  deliveryToken(): string | null {
    return this.#parts.deliveryToken;
  }
}

/**
 * `no_answer`: missing or incomplete. `redirect`: never followed. `not_a_problem`: a refusal that isn't in the market's format.
 * `unexpected`: doesn't match the contract.
 */
export type WhyUnreadable = 'no_answer' | 'redirect' | 'too_large' | 'not_json' | 'not_a_problem' | 'unexpected';

const REPEAT = own`Send the same request again. Nothing is done twice, and no new signature is needed.`;
const NEXT_STEPS: Readonly<Record<WhyUnreadable, OwnWords>> = {
  no_answer: own`Check the address and the network. ${REPEAT}`,
  redirect: own`Redirects are never followed, because they could leak a key. If the target is the market’s own, use its address.`,
  too_large: own`Request fewer rows with limit, or raise maxResponseBytes.`,
  not_json: own`Check that this is the address of a market, and check any proxy in front of it.`,
  not_a_problem: own`Check any proxy in front of the market. ${REPEAT}`,
  unexpected: own`Use a newer version of this client if there is one. ${REPEAT}`,
};

/** The outcome is unknown, because the request may or may not have been carried out. Repeat it unchanged, and never pay because of it. */
export class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer';
  readonly why: WhyUnreadable;
  /** Null if no answer came. */
  readonly status: number | null;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;
  readonly doNotPayAgain = true;
  readonly nextStep: OwnWords;
  /** The fault in our own words. Contains no text from the server except its address. */
  readonly detail: OwnWords;

  constructor(
    why: WhyUnreadable,
    detail: OwnWords,
    seen: { status?: number; headers?: Headers; cause?: unknown } = {},
  ) {
    const whole = own`${detail}; it is unknown whether the request was carried out`;
    super(whole, { cause: seen.cause });
    this.detail = whole;
    this.why = why;
    this.nextStep = NEXT_STEPS[why];
    this.status = seen.status ?? null;
    this.requestId = readRequestId(seen.headers);
    this.retryAfterSeconds = readRetryAfter(seen.headers);
  }
}

const GATEWAY_STATUSES: readonly (number | null)[] = [502, 503, 504];

/** Whether a proxy answered because it couldn't reach the market. */
export function isGatewayFault(error: unknown): error is UnreadableAnswer {
  return error instanceof UnreadableAnswer && GATEWAY_STATUSES.includes(error.status);
}

/** Reads Retry-After in seconds. Ignores the date form, which the market doesn't use. */
export function readRetryAfter(headers: Headers | undefined): number | null {
  const seconds = headers?.get('retry-after') ?? '';
  return /^\d{1,9}$/.test(seconds) ? Number(seconds) : null;
}

/** Returns the market's request ID, or null if it is missing or malformed. */
export function readRequestId(headers: Headers | undefined): string | null {
  const id = headers?.get('x-request-id') ?? '';
  return requestIdForm.test(id) ? id : null;
}

/** A reason from this version's table, or one added by a newer market. */
export type AnyReason = Reason | (string & {});

const text = z.string();

/** Body of a refusal (RFC 9457). It may have fields and reasons that this version doesn't know. */
export const problemIn = z.looseObject({
  type: text,
  title: text,
  status: z.int(),
  detail: text,
  reason: codeOut.transform((code): AnyReason => code),
  error_class: text,
  error: text,
  next_step: text,
  request_id: z.string().regex(requestIdForm),
  retry: z.enum(['same_request', 'same_proof', 'after_fix', 'never']),
  retry_after_seconds: z.number().nonnegative().optional(),
  do_not_pay_again: z.boolean().optional(),
  errors: z.array(z.object({ path: text, message: text })).optional(),
});
export type ReadProblem = z.output<typeof problemIn>;

/** Returns the reason's row of the error table, or undefined if this version doesn't know it. */
export function rowOf(reason: AnyReason): ErrorRow | undefined {
  return Object.hasOwn(ERRORS, reason) ? ERRORS[reason as Reason] : undefined;
}
