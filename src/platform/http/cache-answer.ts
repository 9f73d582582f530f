import { etagOf, matchesEtag } from './etag.ts';
import { abandon, isPieces, type Outgoing } from './incoming.ts';

export const PUBLIC_CACHE = 'public, max-age=1, stale-while-revalidate=5';
const PRIVATE = 'private, no-store';

/** Sets how an answer may be kept, and answers 304 to a client that has it already. */
export function cacheAnswer(answer: Outgoing, cache: 'public' | 'private', ifNoneMatch: string | undefined): Outgoing {
  if (cache === 'private' || answer.status !== 200) {
    return { ...answer, headers: { ...answer.headers, 'cache-control': PRIVATE } };
  }
  const headers: Record<string, string> = { ...answer.headers, 'cache-control': PUBLIC_CACHE };
  const etag = tagOf(answer);
  if (etag === null) return { ...answer, headers, compress: true };
  headers['etag'] = etag;
  if (!matchesEtag(ifNoneMatch, etag)) return { ...answer, headers, compress: true };
  abandon(answer);
  delete headers['content-type'];
  delete headers['content-encoding'];
  return { status: 304, headers, body: '' };
}

function tagOf({ etag, body }: Outgoing): string | null {
  if (etag !== undefined) return etag;
  return isPieces(body) ? null : etagOf(body);
}
