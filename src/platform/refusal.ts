import { ERRORS, type ErrorRow, type Reason } from '../contract/errors.ts';

export interface RefusalOptions {
  /** One or two sentences about this case, without secrets. Default: the row's title. */
  detail?: string;
  errors?: { path: string; message: string }[];
  /** Whole seconds, at least 1. Sent as Retry-After and in the body. */
  retryAfterSeconds?: number;
  /** Overrides the error table where the value depends on the case. */
  doNotPayAgain?: boolean;
  nextStep?: string;
  /** True if the refusal is about an x402 proof, so that the row's `of_proof` applies. */
  isOfProof?: true;
  /** Extra fields that only this route sends. */
  fields?: Readonly<Record<string, unknown>>;
  headers?: Readonly<Record<string, string>>;
  /** Name of the exhausted limit, for log and metrics. */
  budget?: string;
}

/** An expected refusal, which is a row of the error table. Any other error is a bug and answered with 500. */
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
