import type { AnyReason, ReadProblem } from './problem.ts';

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

/** The market said no, and said why. */
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
    super(`${parts.problem.reason}: ${parts.problem.detail}`);
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
