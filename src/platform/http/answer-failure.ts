import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Refusal } from '../refusal.ts';
import type { Exchange } from './exchanges.ts';
import { PAYMENT_HEADER_NAMES } from './payment-headers.ts';
import { type FailureOptions, presentFailure } from './present-failure.ts';
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
