import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Reason } from '../../contract/errors.ts';
import type { Log } from '../log.ts';
import { Refusal } from '../refusal.ts';
import type { Exchange } from './exchanges.ts';
import { PAYMENT_HEADER_NAMES } from './payment-headers.ts';
import { buildProblem, type ProblemAnswer, type ProblemContext } from './problem.ts';
import { refuseFailure } from './refuse-failure.ts';
import { sendAnswer } from './send-answer.ts';

export interface FailureOptions {
  log: Log;
  docsUrl(reason: string): string;
  classifyError?(error: unknown, reasons: readonly Reason[]): Refusal | null;
}

/** Answers whatever was thrown. Only the log sees what a bug was. */
export function answerFailure(
  options: FailureOptions,
  error: unknown,
  exchange: Exchange,
  at: { request: FastifyRequest; reply: FastifyReply },
): void {
  const { request, reply } = at;
  const { facts } = request.routeOptions.config;
  const expected = refuseFailure(error, (thrown) => options.classifyError?.(thrown, facts?.errors ?? []) ?? null);
  const refusal = expected ?? new Refusal('internal_error');
  exchange.notes['reason'] = refusal.reason;
  if (expected === null) options.log.error('request_failed', { request_id: exchange.requestId, error });
  else if (!(error instanceof Refusal) && refusal.row.status >= 500) {
    options.log.warn('request_not_served', { request_id: exchange.requestId, reason: refusal.reason, error });
  }
  const proofSent = PAYMENT_HEADER_NAMES.some((name) => request.headers[name] !== undefined);
  const context: ProblemContext = {
    requestId: exchange.requestId,
    docsUrl: (reason) => options.docsUrl(reason),
    ...(facts?.payment || facts?.claim ? { payment: { proofSent: proofSent || facts.claim } } : {}),
  };
  sendAnswer(reply, tryToBuild(refusal, context, options.log));
}

/** Fields of a refusal that are not JSON are a bug too, and must not leave by the framework's own words. */
function tryToBuild(refusal: Refusal, context: ProblemContext, log: Log): ProblemAnswer {
  try {
    return buildProblem(refusal, context);
  } catch (error) {
    log.error('refusal_not_json', { request_id: context.requestId, reason: refusal.reason, error });
    return buildProblem(new Refusal('internal_error'), context);
  }
}
