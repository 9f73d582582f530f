import { errorClass, type Problem } from '../../contract/errors.ts';
import type { Refusal } from '../refusal.ts';

export interface ProblemContext {
  requestId: string;
  docsUrl: (reason: string) => string;
  /** Set on routes that take payments: every answer there says whether paying again is safe. */
  payment?: { proofSent: boolean };
}

export interface ProblemAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** A refusal as it goes out (W2). */
export function buildProblem(refusal: Refusal, context: ProblemContext): ProblemAnswer {
  const { row, options, reason } = refusal;
  const detail = options.detail ?? row.title;
  const retryAfter =
    options.retryAfterSeconds === undefined ? undefined : Math.max(1, Math.ceil(options.retryAfterSeconds));
  // A proof may have been recorded by an earlier request, and this one was refused before anybody looked: unknown is never "safe".
  const doNotPayAgain = options.doNotPayAgain ?? row.do_not_pay_again ?? context.payment?.proofSent;
  const problem: Problem = {
    ...options.fields,
    type: context.docsUrl(reason),
    title: row.title,
    status: row.status,
    detail,
    reason,
    error_class: errorClass(row.status),
    error: detail,
    next_step: options.nextStep ?? row.next_step,
    request_id: context.requestId,
    retry: row.retry,
    ...(retryAfter === undefined ? {} : { retry_after_seconds: retryAfter }),
    ...(doNotPayAgain === undefined ? {} : { do_not_pay_again: doNotPayAgain }),
    ...(options.errors === undefined ? {} : { errors: options.errors }),
  };
  return {
    status: row.status,
    headers: {
      ...options.headers,
      ...(row.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
    },
    body: JSON.stringify(problem),
  };
}
