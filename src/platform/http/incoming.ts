import type { IncomingHttpHeaders } from 'node:http';
import type { Target } from './request-target.ts';

/** A request as the routes see it: read in full, nothing checked yet. */
export interface Incoming {
  method: string;
  target: Target;
  params: Readonly<Record<string, string>>;
  headers: IncomingHttpHeaders;
  rawHeaders: readonly string[];
  /** Empty when there is no body. */
  body: Uint8Array;
  requestId: string;
  clientNetwork: string;
  signal: AbortSignal;
  /** What the access log shall say about it. */
  notes: Record<string, unknown>;
}

export type Pieces = AsyncIterable<Uint8Array>;

/** What goes back, before the standing headers. */
export interface Outgoing {
  status: number;
  /** A list only where a header is sent more than once, as Set-Cookie is. */
  headers: Record<string, string | string[]>;
  body: string | Uint8Array | Pieces;
  /** Known already; null: it has none. Left out: made from the body where one is due. */
  etag?: string | null;
  /** To be called once, when the body is sent or given up. */
  release?(): void;
  /** May be sent in gzip: the body holds no secret next to text that the client has chosen. */
  compress?: boolean;
  /** In place of a body: the answer of a mount stays open, and goes on through this. Not called for HEAD. */
  listen?(listener: Listener): void;
}

export function isPieces(body: Outgoing['body']): body is Pieces {
  return typeof body !== 'string' && !(body instanceof Uint8Array);
}

/** Lets go of a body that will not be read. */
export function abandon({ body, release }: Outgoing): void {
  release?.();
  if (!isPieces(body)) return;
  // Whatever goes wrong while it is put away, the answer does not need it.
  void (async () => body[Symbol.asyncIterator]().return?.())().catch(() => undefined);
}

/** What another route of this server answered, as text, wherever its bytes lie; then they are let go. */
export async function readOutgoing({ body, release }: Pick<Outgoing, 'body' | 'release'>): Promise<string> {
  try {
    if (typeof body === 'string') return body;
    if (!isPieces(body)) return textOf(body);
    const pieces: Uint8Array[] = [];
    for await (const piece of body) pieces.push(piece);
    return textOf(Buffer.concat(pieces));
  } finally {
    release?.();
  }
}

/** Without copying the bytes. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** A client whose answer goes on for as long as it stays. When it goes, the answer's `release` says so. */
export interface Listener {
  /** The bytes are not copied and may be shared by many. False: enough for now; a writer that does not wait fills the memory. */
  write(bytes: Uint8Array): boolean;
  /** Runs once, when all that was written has been taken. */
  onceDrained(run: () => void): void;
  /** Says the last word; the connection closes when it is taken. */
  end(bytes: Uint8Array): void;
  /** Closes the connection at once. */
  cut(): void;
}
