import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Reason } from '../../contract/errors.ts';
import { isUnavailable } from '../database/database-error.ts';
import type { Log } from '../log.ts';
import { Refusal } from '../refusal.ts';
import type { Exchange } from './exchanges.ts';
import { PAYMENT_HEADER_NAMES } from './payment-headers.ts';
import { buildProblem, type ProblemAnswer, type ProblemContext } from './problem.ts';
import type { RouteFacts } from './route-table.ts';
import { sendAnswer } from './send-answer.ts';
import type { RefusedPage, RefusedRequest } from './server-options.ts';

interface AnswerOptions extends FailureOptions {
  refusedPage?(refusal: Refusal, request: RefusedRequest): RefusedPage | null;
}

/** Answers whatever was thrown. */
export function answerFailure(
  options: AnswerOptions,
  error: unknown,
  exchange: Exchange,
  at: { request: FastifyRequest; reply: FastifyReply },
): void {
  const { request, reply } = at;
  const { requestId, notes } = exchange;
  const { facts } = request.routeOptions.config;
  const proofSent = PAYMENT_HEADER_NAMES.some((name) => request.headers[name] !== undefined);
  // Without facts fastify found no route of ours, whatever it calls the place where it says so.
  const route = facts === undefined ? null : (request.routeOptions.url ?? null);
  const page = (refusal: Refusal): RefusedPage | null =>
    options.refusedPage?.(refusal, { accept: request.headers.accept, requestId, route }) ?? null;
  sendAnswer(reply, presentFailure(options, error, { requestId, notes, facts, proofSent, page }));
}

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

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function statusOf(error: unknown): number {
  return error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : 500;
}

/** What was thrown, as a row of the table; null when it is a bug. */
export function refuseFailure(error: unknown, classify?: (error: unknown) => Refusal | null): Refusal | null {
  if (error instanceof Refusal) return error;
  const known = classify?.(error);
  if (known) return known;
  const code = codeOf(error);
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new Refusal('body_too_large');
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new Refusal('unsupported_media_type');
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') return new Refusal('not_found');
  if (code === 'FST_ERR_BAD_URL') {
    return new Refusal('malformed_request', { detail: 'The address has malformed percent-encoding.' });
  }
  // The client broke off or lied about the length while its body was read.
  const byClient = code.startsWith('FST_ERR_CTP') || code === 'ECONNRESET' || code === 'ABORT_ERR';
  if (byClient && statusOf(error) === 400) return new Refusal('malformed_request', { detail: 'The body broke off.' });
  return null;
}

/** Query canceled, serialization failure, deadlock: nothing was done, and the same request may do it. */
const PASSING: ReadonlySet<string> = new Set(['57014', '40001', '40P01']);
const RETRY_SECONDS = 2;

/**
 * What a database that is away, or too slow, means on a route with these reasons: a read about money that cannot be served must not
 * look like "nothing was paid" (W2). Null: the error is something else.
 */
export function refuseUnreadable(error: unknown, reasons: readonly Reason[]): Refusal | null {
  if (!isUnavailable(error) && !isPassing(error)) return null;
  const reason = reasons.includes('read_unavailable') ? 'read_unavailable' : 'unavailable';
  return new Refusal(reason, { retryAfterSeconds: RETRY_SECONDS });
}

function isPassing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && PASSING.has(error.code);
}
