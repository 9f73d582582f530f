import { ERRORS, type ErrorRow, type Reason } from '../contract/errors.ts';

export interface RefusalOptions {
  /** One or two sentences about this case; the row's title when left out. Never a secret. */
  detail?: string;
  errors?: { path: string; message: string }[];
  /** Sent as Retry-After and in the body; whole seconds, at least 1. */
  retryAfterSeconds?: number;
  /** Overrides the table where only the case can tell. */
  doNotPayAgain?: boolean;
  nextStep?: string;
  /** It is said of a proof of x402: the row's `of_proof` counts. */
  isOfProof?: true;
  /** Fields of this route, in addition to those of every problem. */
  fields?: Readonly<Record<string, unknown>>;
  headers?: Readonly<Record<string, string>>;
  /** The named limit that is used up: for the log and the metrics. */
  budget?: string;
}

/** An expected no: a row of the one table. Anything else that is thrown is a bug and answers 500. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly reason: Reason;
  readonly row: ErrorRow;
  readonly options: RefusalOptions;

  constructor(reason: Reason, options: RefusalOptions = {}) {
    super(options.detail ?? ERRORS[reason].title);
    this.reason = reason;
    const row: ErrorRow = ERRORS[reason];
    this.row = options.isOfProof ? { ...row, ...row.of_proof } : row;
    this.options = options;
  }
}
