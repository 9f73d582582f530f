import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Log } from '../log.ts';
import type { Exchange } from './exchanges.ts';
import { isPieces, type Listener, type Outgoing, type Pieces, releaseBody } from './message.ts';

type With<Body> = Omit<Outgoing, 'body'> & { body: Body };

export function sendAnswer(reply: FastifyReply, { status, headers, body }: With<string | Uint8Array>): FastifyReply {
  reply.code(status).headers(headers);
  if (status === 204 || status === 304) return reply.send();
  // Send bytes, because fastify would add a charset to text.
  return reply.send(
    typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength),
  );
}

/** Sends any answer: a whole body, pieces or an open stream. Releases it afterwards. */
export async function sendOutgoing(
  reply: FastifyReply,
  outgoing: Outgoing,
  at: { exchange: Exchange; log: Log },
): Promise<FastifyReply> {
  const { body, headers, status, release, listen } = outgoing;
  if (listen) return sendStream(reply, { ...outgoing, listen }, at.exchange);
  if (!isPieces(body)) {
    if (release) at.exchange.atEnd(release);
    return sendAnswer(reply, { status, headers, body });
  }
  if (reply.request.method === 'HEAD' || at.exchange.signal.aborted) {
    releaseBody(outgoing);
    return reply.code(status).headers(headers).send();
  }
  const iterator = body[Symbol.asyncIterator]();
  // Read the first piece before sending the head, so that an early error gets a normal answer.
  const first = await iterator.next();
  // Needed even if the client disconnects before the first piece, because a generator that never started does not pass `return` on.
  at.exchange.atEnd(() => void iterator.return?.().catch(() => undefined));
  // Buffer one piece. fastify destroys the connection when the stream fails, and the stream when the connection closes.
  const pieces = Readable.from(resumePieces(first, iterator, at), { highWaterMark: 1 });
  return reply.code(status).headers(headers).send(pieces);
}

async function* resumePieces(
  first: IteratorResult<Uint8Array>,
  iterator: AsyncIterator<Uint8Array>,
  { exchange, log }: { exchange: Exchange; log: Log },
): Pieces {
  try {
    for (let step = first; step.done !== true; step = await iterator.next()) yield step.value;
  } catch (error) {
    exchange.notes['reason'] = 'internal_error';
    log.error('answer_stream_failed', { request_id: exchange.requestId, error });
    throw error;
  }
}

type StreamOutgoing = Outgoing & Required<Pick<Outgoing, 'listen'>>;

/**
 * Answers with a head and leaves the connection to the listener. The body has neither length nor chunks and ends with the connection, so
 * that all listeners can share the same bytes. The head is sent with the first bytes. The server counts the answer as finished: it delays
 * neither other requests nor a close.
 */
function sendStream(reply: FastifyReply, outgoing: StreamOutgoing, exchange: Exchange): FastifyReply {
  const { status, headers, listen, release } = outgoing;
  if (release) exchange.atEnd(release);
  reply.code(status).headers({ ...headers, connection: 'close' });
  if (reply.request.method === 'HEAD') return reply.send();
  reply.hijack();
  const { raw } = reply;
  raw.removeHeader('transfer-encoding');
  raw.writeHead(status, reply.getHeaders() as Record<string, string | string[]>);
  exchange.leave();
  forgetHead(reply.request.raw);
  listen(new StreamResponse(raw));
  return reply;
}

/** Frees the memory of the head, which is not read again. A browser's headers take as much memory as everything else of the connection. */
function forgetHead(request: IncomingMessage): void {
  request.headers = {};
  request.rawHeaders = [];
}

/** Has only one field, because there are thousands of these objects. */
class StreamResponse implements Listener {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** False if the connection is closed. Writing to it would raise an error that no code handles. */
  #isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded;
  }

  write(bytes: Uint8Array): boolean {
    return this.#isOpen() && this.#response.write(bytes);
  }

  onceDrained(run: () => void): void {
    this.#response.once('drain', run);
  }

  end(bytes: Uint8Array): void {
    if (this.#isOpen()) this.#response.end(bytes);
  }

  cut(): void {
    this.#response.destroy();
  }
}
