import type { Request } from 'playwright-core';
import sql, { raw } from 'sql-template-tag';
import { expect } from 'vitest';
import type { Visitor } from './browser.ts';
import type { BrowserMarket } from './market.ts';

/** Records every request of a browser from all of its tabs. */
export interface Overheard {
  /** Returns all URLs and bodies sent, without headers. */
  readAllSent(): string;
  /** Lists where a secret was sent: in a URL, in a body, or in which header. */
  placesOf(secret: string): Promise<string[]>;
}

export function overhear({ page }: Visitor): Overheard {
  const sent: { request: Request; headers: Promise<Record<string, string>> }[] = [];
  page.context().on('request', (request) => {
    // Read headers at once, because a closed tab can no longer report them.
    sent.push({ request, headers: request.allHeaders().catch(() => request.headers()) });
  });
  const bodyOf = (request: Request): string => request.postDataBuffer()?.toString('utf8') ?? '';
  return {
    readAllSent: () => sent.map(({ request }) => `${request.method()} ${request.url()} ${bodyOf(request)}`).join('\n'),
    placesOf: async (secret) => {
      const places = sent.map(async ({ request, headers }) => {
        const parts = { address: request.url(), body: bodyOf(request), ...(await headers) };
        return formsIn(secret, parts).map((part) => `${request.method()} ${pathOf(request)} ${part}`);
      });
      return (await Promise.all(places)).flat();
    },
  };
}

const pathOf = (request: Request): string => new URL(request.url()).pathname;

/** Names the texts that contain the secret, plain or encoded. Does not return the texts, so that a failure does not print secrets. */
export function formsIn(secret: string, places: Readonly<Record<string, string>>): string[] {
  const bytes = Buffer.from(secret);
  const forms = [secret, bytes.toString('hex'), bytes.toString('base64').replace(/..=*$/, '')];
  return Object.keys(places).filter((name) => forms.some((form) => places[name]?.includes(form)));
}

/** Returns every row of every table as text. */
export async function everyRow({ database }: Pick<BrowserMarket, 'database'>): Promise<string> {
  const tables = await database.rows<{ name: string }>(sql`
    select quote_ident(table_name) as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'`);
  const texts = await Promise.all(
    tables.map(({ name }) =>
      database.one<{ text: string | null }>(sql`
        select string_agg(one::text, ' ') as text from ${raw(name)} as one`),
    ),
  );
  expect(tables.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['oauth_artifacts', 'connect_proofs', 'hosted_grants']),
  );
  return texts.map(({ text }) => text ?? '').join('\n');
}
