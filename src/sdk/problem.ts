import { z } from 'zod';
import { ERRORS, type ErrorRow, type Reason } from '../contract/errors.ts';

/** A reason of this version's table, or one that a newer market has added. */
export type AnyReason = Reason | (string & {});

const text = z.string();

/** A refusal as a client reads it (RFC 9457 and W2). Fields and reasons may be more than this version knows. */
export const problemIn = z.looseObject({
  type: text,
  title: text,
  status: z.int(),
  detail: text,
  reason: text.transform((given): AnyReason => given),
  error_class: text,
  error: text,
  next_step: text,
  request_id: text,
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
