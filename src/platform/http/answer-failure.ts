import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Exchange } from './exchanges.ts';
import { PAYMENT_HEADER_NAMES } from './payment-headers.ts';
import { type FailureOptions, presentFailure } from './present-failure.ts';
import { sendAnswer } from './send-answer.ts';

/** Answers whatever was thrown. */
export function answerFailure(
  options: FailureOptions,
  error: unknown,
  exchange: Exchange,
  at: { request: FastifyRequest; reply: FastifyReply },
): void {
  const { request, reply } = at;
  const { requestId, notes } = exchange;
  const { facts } = request.routeOptions.config;
  const proofSent = PAYMENT_HEADER_NAMES.some((name) => request.headers[name] !== undefined);
  sendAnswer(reply, presentFailure(options, error, { requestId, notes, facts, proofSent }));
}
