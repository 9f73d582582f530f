import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** One socket of a client, and the one request that is being read from it or answered on it. There are thousands of these. */
export class Connection {
  readonly socket: Socket;
  /** The peer's counted network and the wider one around it; null: a trusted proxy, which stands for many. */
  readonly peer: { address: string; site: string } | null;
  request: IncomingMessage | null = null;
  response: ServerResponse | null = null;
  /** When the head of that request was read in full, and how much had come on the socket by then. */
  headAt = 0;
  bytesAtHead = 0;
  /** Its answer goes on without an end. */
  isStream = false;
  /** What has not been taken at the last look, all that was written until then, and since when neither has changed. */
  queued = 0;
  written = 0;
  stalledSince = 0;

  constructor(socket: Socket, peer: Connection['peer']) {
    this.socket = socket;
    this.peer = peer;
  }

  /** A request has been read in full, and its answer is not out yet. */
  isAnswering(): boolean {
    return this.request?.complete === true && this.response?.writableFinished === false;
  }

  isReadingBody(): boolean {
    return this.request !== null && !this.request.complete;
  }

  /** It has been answered before, and asks nothing now. */
  isIdle(): boolean {
    return this.request?.complete === true && this.response?.writableFinished === true;
  }
}
