import { preferredCompression } from './accept-encoding.ts';
import { cacheAnswer } from './cache-answer.ts';
import type { CompressDocument } from './compress-documents.ts';
import { etagOf } from './etag.ts';
import type { Incoming, Outgoing } from './incoming.ts';
import { readQuery } from './request-target.ts';
import type { Page, PageAnswer } from './server-options.ts';

/** A request's way through a route written by hand. */
export async function answerPage(page: Page, incoming: Incoming, compress: CompressDocument): Promise<Outgoing> {
  const answer = await page.handler({
    params: incoming.params,
    query: readQuery(incoming.target.query),
    accept: incoming.headers.accept,
    path: incoming.target.whole,
    requestId: incoming.requestId,
    clientNetwork: incoming.clientNetwork,
    signal: incoming.signal,
  });
  const plain = { ...answer, headers: lowerCased(answer.headers) };
  const shrinks = page.longLived === true && answer.status === 200 && plain.headers['content-encoding'] === undefined;
  const outgoing = shrinks ? shrink(plain, incoming.headers['accept-encoding'], compress) : plain;
  return cacheAnswer(outgoing, page.cache ?? 'public', incoming.headers['if-none-match']);
}

/** The smallest form that the client takes, where that is ready. */
function shrink(
  answer: PageAnswer & { headers: Record<string, string> },
  acceptEncoding: string | undefined,
  compress: CompressDocument,
): Outgoing {
  const etag = answer.etag ?? etagOf(answer.body);
  const vary = answer.headers['vary'];
  const headers = { ...answer.headers, vary: vary === undefined ? 'accept-encoding' : `${vary}, accept-encoding` };
  const how = preferredCompression(acceptEncoding);
  const compressed = how === null ? null : compress(etag, answer.body, how);
  if (how === null || compressed === null) return { ...answer, headers, etag };
  answer.release?.();
  return {
    status: 200,
    headers: { ...headers, 'content-encoding': how },
    body: compressed.bytes,
    etag: compressed.etag,
  };
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
