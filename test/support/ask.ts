import assert from 'node:assert/strict';
import type { EndpointShape, ParamsGiven, QueryGiven, ResultOf } from '../../src/contract/endpoint.ts';
import { endpoints } from '../../src/contract/index.ts';
import type { Catalog } from '../../src/market/catalog/catalog.ts';
import { makeBrowseShelves } from '../../src/market/catalog/shelf/browse-shelves.ts';
import type { Market, MarketCall, MarketRead, Merchant } from '../../src/market/context.ts';
import type { Prepared, PreparedStream } from '../../src/platform/http/operation.ts';
import { watchText } from './canary.ts';
import type { TestMarket } from './market-context.ts';

/** Calls an operation as the server would, with raw path and query parameters. The answer must match its schema exactly. */
export async function ask<E extends EndpointShape>(
  market: Market & { catalog?: Catalog },
  endpoint: E,
  operation: MarketRead<E>,
  asked: { params?: ParamsGiven<E>; query?: QueryGiven<E>; caller?: Pick<Merchant, 'id' | 'handle'> } = {},
): Promise<ResultOf<E>['body']> {
  const call = {
    params: endpoint.params?.parse(asked.params),
    query: endpoint.query?.parse(asked.query ?? {}),
    caller: asked.caller ? { ...asked.caller, maintainer: asked.caller.id === 1n } : null,
    path: `${endpoint.path} ${JSON.stringify(asked.params ?? {})}?${JSON.stringify(asked.query ?? {})}`,
    acceptsGzip: false,
  } as MarketCall<E>;
  // No background job refreshes the catalog in these tests.
  await market.catalog?.fresh();
  await market.catalog?.searchable();
  const answer = await operation(market, call);
  const given = 'prepared' in answer ? await readPrepared(answer.prepared) : answer.body;
  const body: unknown = endpoint.answers[answer.status]?.parse(given);
  assert.deepEqual(given, body, 'the answer holds what its schema does not name');
  watchText(`the answer of ${endpoint.name}`, JSON.stringify(body));
  return body as ResultOf<E>['body'];
}

async function readPrepared(prepared: Prepared | PreparedStream): Promise<unknown> {
  const pieces: Uint8Array[] = [];
  if ('pieces' in prepared) for await (const piece of prepared.pieces) pieces.push(piece);
  else pieces.push(prepared.body);
  return JSON.parse(Buffer.concat(pieces).toString('utf8'));
}

/** Returns the reason with which `act` is refused. */
export async function reasonOf(act: Promise<unknown>): Promise<string> {
  try {
    await act;
  } catch (error) {
    if (error instanceof Error && 'reason' in error) return String(error.reason);
    throw error;
  }
  return 'none';
}

/** Query of a shelf page as raw strings: filters, sort, page size and cursor. */
export type ShelfGiven = QueryGiven<typeof endpoints.browseShelves>;

export const browsePage = (market: TestMarket, query: ShelfGiven) =>
  ask(market, endpoints.browseShelves, makeBrowseShelves(market.catalog), { query });
export type ShelfPage = Awaited<ReturnType<typeof browsePage>>;
export const idsOf = (page: ShelfPage): number[] => page.listings.map(({ id }) => id);

interface WalkActs {
  /** Runs after every page, including the last. */
  seen?: (page: ShelfPage) => Promise<void> | void;
}

/** Reads all pages. `between` runs after each page but the last. */
export async function walkShelves(
  market: TestMarket,
  query: ShelfGiven,
  between: () => Promise<void> = async () => {},
  { seen = () => {} }: WalkActs = {},
) {
  const pages: ShelfPage[] = [];
  for (let asked: ShelfGiven | null = query; asked !== null; ) {
    const page: ShelfPage = await browsePage(market, asked);
    await seen(page);
    pages.push(page);
    const cursor = page.next_cursor;
    asked = cursor === null ? null : { ...query, cursor };
    if (asked !== null) await between();
  }
  return { pages, ids: pages.flatMap(idsOf) };
}
