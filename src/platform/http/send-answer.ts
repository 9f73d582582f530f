import type { FastifyReply } from 'fastify';
import type { Outgoing } from './incoming.ts';

export function sendAnswer(reply: FastifyReply, { status, headers, body }: Outgoing): FastifyReply {
  reply.code(status).headers(headers);
  if (status === 204 || status === 304) return reply.send();
  // Always bytes: to text fastify adds a charset of its own.
  return reply.send(
    typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength),
  );
}
