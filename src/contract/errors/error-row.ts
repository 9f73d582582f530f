export type Retry = 'same_request' | 'same_proof' | 'after_fix' | 'never';

export interface ErrorRow {
  status:
    | 400
    | 401
    | 402
    | 403
    | 404
    | 405
    | 408
    | 409
    | 410
    | 412
    | 413
    | 415
    | 416
    | 422
    | 429
    | 431
    | 460
    | 500
    | 502
    | 503;
  title: string;
  retry: Retry;
  /**
   * True if the client must not pay again, because a payment may exist or none is due. Undefined for reasons that say nothing about
   * payments.
   */
  do_not_pay_again?: boolean;
  next_step: string;
  /** Replaces the fields of the same names if the refusal is about an x402 proof, which is answered with 402. */
  of_proof?: { status: 402; title: string; do_not_pay_again: false; next_step: string };
}
