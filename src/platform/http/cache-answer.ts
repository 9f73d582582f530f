import { etagOf, matchesEtag } from './etag.ts';
import type { Outgoing } from './incoming.ts';

const PUBLIC = 'public, max-age=1, stale-while-revalidate=5';
const PRIVATE = 'private, no-store';

/** Sets how an answer may be kept, and answers 304 to a client that has it already. */
export function cacheAnswer(answer: Outgoing, cache: 'public' | 'private', ifNoneMatch: string | undefined): Outgoing {
  if (cache === 'private' || answer.status !== 200) {
    return { ...answer, headers: { ...answer.headers, 'cache-control': PRIVATE } };
  }
  const etag = etagOf(answer.body);
  const headers: Record<string, string> = { ...answer.headers, 'cache-control': PUBLIC, etag };
  if (!matchesEtag(ifNoneMatch, etag)) return { ...answer, headers };
  delete headers['content-type'];
  return { status: 304, headers, body: '' };
}
