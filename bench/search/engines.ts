import { Agent } from 'node:http';
import type { ClientBase } from 'pg';
import { shelfQuery } from '../../src/contract/shelves.ts';
import { readPage } from '../catalog/check-page.ts';
import { createBm25 } from './bm25.ts';
import { makeDocuments, searchDocuments } from './full-text.ts';
import { cutAtWord } from './public-text.ts';
import type { Listed } from './seed-corpus.ts';

export interface Engine {
  name: string;
  /** Returns the ids of the best listings, best first, at most `RESULTS`. */
  search(query: string): Promise<number[]>;
}

export const RESULTS = 10;
/** Characters that the market accepts in a query. */
export const LONGEST_QUERY = shelfQuery.shape.q.unwrap().maxLength ?? Number.POSITIVE_INFINITY;

/** Asks the market over HTTP, as any client does. Cuts a query that is longer than the market accepts. */
export function marketEngine(url: string, begun: DisposableStack | AsyncDisposableStack): Engine {
  const agent = new Agent({ keepAlive: true });
  begun.defer(() => agent.destroy());
  return {
    name: 'market',
    search: async (query) => {
      const q = encodeURIComponent(cutAtWord(query, LONGEST_QUERY));
      const { listings } = await readPage(url, `/api/shelves?q=${q}&limit=${RESULTS}`, agent);
      return listings.map(({ id }) => id);
    },
  };
}

/** Searches one bag of words for each listing by plain BM25, in this process. */
export function bm25Engine(items: readonly Listed[]): Engine {
  const search = createBm25(items.map((item) => textOf(item)));
  return { name: 'BM25', search: async (query) => search(query, RESULTS).map((place) => place + 1) };
}

/** Searches by PostgreSQL's full text in the market's own database. */
export async function postgresEngine(client: ClientBase): Promise<Engine> {
  await makeDocuments(client);
  return { name: 'PostgreSQL', search: (query) => searchDocuments(client, query, RESULTS) };
}

function textOf({ title, tags, merchant, description, preview }: Listed): string {
  return [title, ...tags, merchant, description, preview].join('\n');
}
