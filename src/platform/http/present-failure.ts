import type { Reason } from '../../contract/errors.ts';
import type { Log } from '../log.ts';
import { Refusal } from '../refusal.ts';
import { buildProblem, type ProblemAnswer, type ProblemContext } from './problem.ts';
import { refuseFailure } from './refuse-failure.ts';
import type { RouteFacts } from './route-table.ts';
import type { RefusedPage } from './server-options.ts';

export interface FailureOptions {
  log: Log;
  docsUrl(reason: string): string;
  classifyError?(error: unknown, reasons: readonly Reason[]): Refusal | null;
}

/** The request that failed. */
export interface FailedRequest {
  requestId: string;
  notes: Record<string, unknown>;
  facts: RouteFacts | undefined;
  proofSent: boolean;
  /** How the refusal looks to who asked, where it is a person. */
  page?(refusal: Refusal): RefusedPage | null;
}

/** Whatever was thrown, as a problem. Only the log sees what a bug was. */
export function presentFailure(options: FailureOptions, error: unknown, request: FailedRequest): ProblemAnswer {
  const { facts, requestId } = request;
  const expected = refuseFailure(error, (thrown) => options.classifyError?.(thrown, facts?.errors ?? []) ?? null);
  const refusal = expected ?? new Refusal('internal_error');
  request.notes['reason'] = refusal.reason;
  if (refusal.options.budget !== undefined) request.notes['budget'] = refusal.options.budget;
  if (expected === null) options.log.error('request_failed', { request_id: requestId, error });
  else if (!(error instanceof Refusal) && refusal.row.status >= 500) {
    options.log.warn('request_not_served', { request_id: requestId, reason: refusal.reason, error });
  }
  const context: ProblemContext = {
    requestId,
    docsUrl: (reason) => options.docsUrl(reason),
    ...(facts?.payment || facts?.claim ? { payment: { proofSent: request.proofSent || facts.claim } } : {}),
  };
  return tryToBuild(refusal, context, options.log, (shown) => request.page?.(shown) ?? null);
}

/** Fields of a refusal that are not JSON are a bug too, and must not leave by the framework's own words. So is a page that cannot be made. */
function tryToBuild(
  refusal: Refusal,
  context: ProblemContext,
  log: Log,
  show: (refusal: Refusal) => RefusedPage | null,
): ProblemAnswer {
  try {
    const problem = buildProblem(refusal, context);
    const page = show(refusal);
    return page === null ? problem : { ...problem, headers: { ...problem.headers, ...page.headers }, body: page.body };
  } catch (error) {
    log.error('refusal_not_shown', { request_id: context.requestId, reason: refusal.reason, error });
    return buildProblem(new Refusal('internal_error'), context);
  }
}
