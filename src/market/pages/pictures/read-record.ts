import { isParts, isPieces, type Outgoing } from '../../../platform/http/incoming.ts';

/** What a route answered in JSON, wherever its bytes lie. */
export async function readRecord({ body, release }: Outgoing): Promise<unknown> {
  try {
    if (typeof body === 'string') return JSON.parse(body);
    const pieces: Uint8Array[] = isParts(body) ? [...body] : [];
    if (isPieces(body)) for await (const piece of body) pieces.push(piece);
    else if (!isParts(body)) pieces.push(body);
    return JSON.parse(Buffer.concat(pieces).toString('utf8'));
  } finally {
    release?.();
  }
}
