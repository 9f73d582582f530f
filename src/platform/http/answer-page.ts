import type { Refusal } from '../refusal.ts';
import type { SecretGuard } from '../secret-guard.ts';
import { cacheAnswer } from './cache-answer.ts';
import { guardBody } from './guard-request.ts';
import type { Incoming, Outgoing } from './incoming.ts';
import { readForm } from './read-body.ts';
import { readCookies, readQuery } from './request-target.ts';
import type { AnyPageRoute, FormPage, PageAnswer, PageCall } from './server-options.ts';

export interface PageDoor {
  guard: SecretGuard;
  /** What was thrown, as a refusal; null when it is a bug. */
  expect(error: unknown, incoming: Incoming): Refusal | null;
}

/** For a year: whatever changes gets another address. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

/** A request's way through a route written by hand. */
export async function answerPage(page: AnyPageRoute, incoming: Incoming, by: PageDoor): Promise<Outgoing> {
  const answer = await handle(page, incoming, by.guard).catch((error: unknown) => present(page, error, incoming, by));
  const plain = { ...answer, headers: lowerCased(answer.headers) };
  if (page.method === 'POST') return cacheAnswer(plain, 'private', undefined);
  const cache = page.cache ?? 'public';
  const cached = cacheAnswer(plain, cache === 'private' ? cache : 'public', incoming.headers['if-none-match']);
  if (cache === 'immutable' && cached.status < 400) cached.headers['cache-control'] = IMMUTABLE;
  // No page by GET repeats what was sent to it, so that the length of a compressed one tells nothing of a form's token.
  return { ...cached, compress: true };
}

async function handle(page: AnyPageRoute, incoming: Incoming, guard: SecretGuard): Promise<PageAnswer> {
  if (page.method === 'POST') return await answerForm(page, incoming, guard);
  return await page.handler(readCall(incoming));
}

function readCall(incoming: Incoming): PageCall {
  return {
    params: incoming.params,
    query: readQuery(incoming.target.query),
    accept: incoming.headers.accept,
    cookies: readCookies(incoming.headers.cookie),
    path: incoming.target.whole,
    requestId: incoming.requestId,
    clientNetwork: incoming.clientNetwork,
    signal: incoming.signal,
  };
}

/** The guard comes before any word about the form's shape. */
async function answerForm(page: FormPage, incoming: Incoming, guard: SecretGuard): Promise<PageAnswer> {
  const { headers, body } = incoming;
  let form: Record<string, string>;
  try {
    form = readForm(body, headers);
  } catch (error) {
    guardBody(guard, body, undefined);
    throw error;
  }
  guardBody(guard, form, page.secretFields);
  const site = headers['sec-fetch-site'];
  const sentFrom = { site: typeof site === 'string' ? site : undefined, origin: headers.origin };
  return await page.handler({ ...readCall(incoming), form, sentFrom });
}

/** A refusal as this page shows it. Bugs, and pages that show none, are answered like everything else. */
function present(page: AnyPageRoute, error: unknown, incoming: Incoming, by: PageDoor): PageAnswer {
  const refusal = page.refused && by.expect(error, incoming);
  if (!refusal || page.refused === undefined) throw error;
  return page.refused(refusal);
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
