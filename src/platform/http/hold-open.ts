import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Exchange } from './exchanges.ts';
import type { Listener, Outgoing } from './incoming.ts';

type HeldOutgoing = Outgoing & Required<Pick<Outgoing, 'listen'>>;

/**
 * Answers with a head and leaves the connection to the listener. The body ends with the connection: without a length and without
 * chunks, the same bytes go to everybody. The head leaves with the first of them. The server takes such an answer for finished: it
 * holds up neither others nor a close.
 */
export function holdOpen(reply: FastifyReply, outgoing: HeldOutgoing, exchange: Exchange): FastifyReply {
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
  listen(new HeldResponse(raw));
  return reply;
}

/** Nobody reads it again, and what a browser says of itself takes as much memory as all the rest. */
function forgetHead(request: IncomingMessage): void {
  request.headers = {};
  request.rawHeaders = [];
}

/** There are thousands of these: one field each. */
class HeldResponse implements Listener {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** Writing to a connection that has just gone would be an error that nobody waits for. */
  #takes(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded;
  }

  write(bytes: Uint8Array): boolean {
    return this.#takes() && this.#response.write(bytes);
  }

  onceDrained(run: () => void): void {
    this.#response.once('drain', run);
  }

  end(bytes: Uint8Array): void {
    if (this.#takes()) this.#response.end(bytes);
  }

  cut(): void {
    this.#response.destroy();
  }
}
