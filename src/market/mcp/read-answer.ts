import { isPieces, type Outgoing } from '../../platform/http/message.ts';
import { Refusal } from '../../platform/refusal.ts';

/** A result travels twice, as data and as text, and hosts hold both in memory. */
const ANSWER_LIMIT_BYTES = 4_194_304;

export interface ReadAnswer {
  status: number;
  headers: Outgoing['headers'];
  /** The JSON body as it would go out over HTTP. */
  text: string;
}

/** A route's answer, whole. What comes in pieces is read up to a limit. */
export async function readAnswer(outgoing: Outgoing): Promise<ReadAnswer> {
  const { status, headers, body } = outgoing;
  try {
    return { status, headers, text: isPieces(body) ? await joined(body) : textOf(body) };
  } finally {
    outgoing.release?.();
  }
}

function textOf(body: string | Uint8Array): string {
  if (body.length > ANSWER_LIMIT_BYTES) throw new Refusal('answer_too_large');
  // A copy: prepared bytes are written again once they are released.
  return typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
}

async function joined(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.byteLength;
    if (bytes > ANSWER_LIMIT_BYTES) throw new Refusal('answer_too_large');
    chunks.push(piece);
  }
  return Buffer.concat(chunks).toString('utf8');
}
