import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Log } from '../log.ts';
import type { Exchange } from './exchanges.ts';
import { holdOpen } from './hold-open.ts';
import { abandon, isPieces, type Outgoing, type Pieces } from './incoming.ts';

type With<Body> = Omit<Outgoing, 'body'> & { body: Body };

export function sendAnswer(reply: FastifyReply, { status, headers, body }: With<string | Uint8Array>): FastifyReply {
  reply.code(status).headers(headers);
  if (status === 204 || status === 304) return reply.send();
  // Always bytes: to text fastify adds a charset of its own.
  return reply.send(
    typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength),
  );
}

/** Also what comes in pieces, what stays open, and what has to be given back. */
export async function sendOutgoing(
  reply: FastifyReply,
  outgoing: Outgoing,
  at: { exchange: Exchange; log: Log },
): Promise<FastifyReply> {
  const { body, headers, status, release, listen } = outgoing;
  if (listen) return holdOpen(reply, { ...outgoing, listen }, at.exchange);
  if (!isPieces(body)) {
    if (release) at.exchange.atEnd(release);
    return sendAnswer(reply, { status, headers, body });
  }
  if (reply.request.method === 'HEAD' || at.exchange.signal.aborted) {
    abandon(outgoing);
    return reply.code(status).headers(headers).send();
  }
  const iterator = body[Symbol.asyncIterator]();
  // Pulled before anything is said, so that what fails at the start is answered like any other failure.
  const first = await iterator.next();
  // Also where the client has gone before the first piece: a generator that was never begun would not pass `return` on.
  at.exchange.atEnd(() => void iterator.return?.().catch(() => undefined));
  // Its buffer holds one piece; fastify destroys the connection when it fails, and it when the connection has gone.
  const pieces = Readable.from(resumed(first, iterator, at), { highWaterMark: 1 });
  return reply.code(status).headers(headers).send(pieces);
}

async function* resumed(
  first: IteratorResult<Uint8Array>,
  iterator: AsyncIterator<Uint8Array>,
  { exchange, log }: { exchange: Exchange; log: Log },
): Pieces {
  try {
    for (let step = first; step.done !== true; step = await iterator.next()) yield step.value;
  } catch (error) {
    exchange.notes['reason'] = 'internal_error';
    log.error('answer_broke_off', { request_id: exchange.requestId, error });
    throw error;
  }
}
