import { z } from 'zod';
import { codeOut, requestIdForm } from '../contract/answer-forms.ts';
import { ERRORS, type ErrorRow, type Reason } from '../contract/errors.ts';
import { inMarks } from '../contract/foreign-words.ts';
import { type OwnWords, own } from '../contract/own-words.ts';

export interface MarketErrorParts {
  problem: ReadProblem;
  status: number;
  requestId: string | null;
  retryAfterSeconds: number | null;
  doNotPayAgain: boolean | undefined;
  headers: Headers;
  /** The body as it came: a 402 carries x402 fields that no schema of ours touches. */
  body: unknown;
  deliveryToken: string | null;
}

const LONGEST_DETAIL = 500;

/** The market said no, and said why. What it said stands in marks in the message, and as it came in `problem`. */
export class MarketError extends Error {
  override readonly name = 'MarketError';
  /** Stable code of the error table. */
  readonly reason: AnyReason;
  /** HTTP status. */
  readonly status: number;
  readonly problem: ReadProblem;
  readonly requestId: string | null;
  /** Whole seconds; null when the market named no time. */
  readonly retryAfterSeconds: number | null;
  /** True when a payment may exist. Undefined: the answer says nothing about payments. */
  readonly doNotPayAgain: boolean | undefined;
  // Private, so that printing the error shows neither headers nor the token.
  readonly #parts: MarketErrorParts;

  constructor(parts: MarketErrorParts) {
    super(`${parts.problem.reason}: ${inMarks(parts.problem.detail, LONGEST_DETAIL)}`);
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

  /** Given once, to the request without a key that opened a payment, in an answer of any status. A secret. */
  deliveryToken(): string | null {
    return this.#parts.deliveryToken;
  }
}

/**
 * `no_answer`: none came, or not whole. `redirect`: never followed. `too_large`, `not_json`. `not_a_problem`: a refusal that is not the
 * market's. `unexpected`: not what the contract says.
 */
export type WhyUnreadable = 'no_answer' | 'redirect' | 'too_large' | 'not_json' | 'not_a_problem' | 'unexpected';

const REPEAT = own`Send the same request again: nothing is done twice, and no second signature is needed.`;
const NEXT_STEPS: Readonly<Record<WhyUnreadable, OwnWords>> = {
  no_answer: own`Look at the address and the network. ${REPEAT}`,
  redirect: own`Use the address that it leads to, if it is the market’s own: none is followed with a key.`,
  too_large: own`Ask for less at once by limit, or raise maxResponseBytes.`,
  not_json: own`Look whether the address is that of a market, and what stands before it.`,
  not_a_problem: own`Look what stands before the market. ${REPEAT}`,
  unexpected: own`Use a newer version of this client, if there is one. ${REPEAT}`,
};

/** Nothing is known: the request may have been carried out or not. Repeat it as it was; never pay on the strength of it. */
export class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer';
  readonly why: WhyUnreadable;
  /** Null when no answer came. */
  readonly status: number | null;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;
  readonly doNotPayAgain = true;
  readonly nextStep: OwnWords;
  /** The fault, in words of ours; the address of the site and numbers are all that it names. */
  readonly detail: OwnWords;

  constructor(
    why: WhyUnreadable,
    detail: OwnWords,
    seen: { status?: number; headers?: Headers; cause?: unknown } = {},
  ) {
    const said = own`${detail}; whether the request was carried out is not known`;
    super(said, { cause: seen.cause });
    this.detail = said;
    this.why = why;
    this.nextStep = NEXT_STEPS[why];
    this.status = seen.status ?? null;
    this.requestId = readRequestId(seen.headers);
    this.retryAfterSeconds = readRetryAfter(seen.headers);
  }
}

const GATEWAY_STATUSES: readonly (number | null)[] = [502, 503, 504];

/** Whether something before the market answered in its place, as it did not reach it: with a page of its own, with any other body, or none. */
export function isGatewayFault(error: unknown): error is UnreadableAnswer {
  return error instanceof UnreadableAnswer && GATEWAY_STATUSES.includes(error.status);
}

/** Retry-After in whole seconds. Its date form is not used by the market and is ignored. */
export function readRetryAfter(headers: Headers | undefined): number | null {
  const given = headers?.get('retry-after') ?? '';
  return /^\d{1,9}$/.test(given) ? Number(given) : null;
}

/** The market's name of the request. What is no such name is left out. */
export function readRequestId(headers: Headers | undefined): string | null {
  const given = headers?.get('x-request-id') ?? '';
  return requestIdForm.test(given) ? given : null;
}

/** A reason of this version's table, or one that a newer market has added. */
export type AnyReason = Reason | (string & {});

const text = z.string();

/** A refusal as a client reads it (RFC 9457 and W2). Fields and reasons may be more than this version knows. */
export const problemIn = z.looseObject({
  type: text,
  title: text,
  status: z.int(),
  detail: text,
  reason: codeOut.transform((given): AnyReason => given),
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

/** The table's row, or undefined for a reason that this version does not know. */
export function rowOf(reason: AnyReason): ErrorRow | undefined {
  return Object.hasOwn(ERRORS, reason) ? ERRORS[reason as Reason] : undefined;
}
