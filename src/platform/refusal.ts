import { ERRORS, type ErrorRow, type Reason } from '../contract/errors.ts';

export interface RefusalOptions {
  /** One or two sentences about this case; default: the row's title. Never a secret. */
  detail?: string;
  errors?: { path: string; message: string }[];
  /** Sent as Retry-After and in the body; whole seconds, at least 1. */
  retryAfterSeconds?: number;
  /** Overrides the table where it depends on the case. */
  doNotPayAgain?: boolean;
  nextStep?: string;
  /** The refusal is about an x402 proof: the row's `of_proof` applies. */
  isOfProof?: true;
  /** Extra fields of this route. */
  fields?: Readonly<Record<string, unknown>>;
  headers?: Readonly<Record<string, string>>;
  /** The exhausted limit, for log and metrics. */
  budget?: string;
}

/** An expected refusal: a row of the error table. Any other thrown error is a bug and answers 500. */
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
