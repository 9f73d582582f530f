import { cacheAnswer } from './cache-answer.ts';
import type { Incoming, Outgoing } from './incoming.ts';
import { readQuery } from './request-target.ts';
import type { Page } from './server-options.ts';

/** A request's way through a route written by hand. */
export async function answerPage(page: Page, incoming: Incoming): Promise<Outgoing> {
  const answer = await page.handler({
    params: incoming.params,
    query: readQuery(incoming.target.query),
    accept: incoming.headers.accept,
    path: incoming.target.whole,
    requestId: incoming.requestId,
    clientNetwork: incoming.clientNetwork,
    signal: incoming.signal,
  });
  const outgoing = { ...answer, headers: lowerCased(answer.headers) };
  return cacheAnswer(outgoing, page.cache ?? 'public', incoming.headers['if-none-match']);
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
