import { isPieces, type Outgoing } from './incoming.ts';

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
