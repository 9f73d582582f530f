import { gunzipSync } from 'node:zlib';
import type { EndpointShape } from '../../src/contract/endpoint.ts';
import { endpoints } from '../../src/contract/index.ts';
import { makeBrowseShelves } from '../../src/market/catalog/browse-shelves.ts';
import { makeGetListing } from '../../src/market/catalog/get-listing.ts';
import type { MarketCall, MarketRead } from '../../src/market/context.ts';
import { makeGetStore } from '../../src/market/merchants/get-store.ts';
import { makeListMerchants } from '../../src/market/merchants/list-merchants.ts';
import { createQuickReads } from '../../src/market/quick-reads.ts';
import { makeGetWindow } from '../../src/market/window/get-window.ts';
import type { QuickAnswer, Shortcut } from '../../src/platform/http/prepared.ts';
import { readQuery } from '../../src/platform/http/request-target.ts';
import { Refusal } from '../../src/platform/refusal.ts';
import type { TestMarket } from '../support/market-context.ts';

/** An answer as far as it must be the same in every process. */
export interface Said {
  etag: string | null;
  text: string;
}

/** The operation behind an address, called as the server calls it: the way on which nothing is out of reach. */
export async function longWay(market: TestMarket, target: string): Promise<Said> {
  const { catalog, events } = market;
  const [path = '', query = ''] = target.split('?');
  const [, , name = '', what = ''] = path.split('/');
  const run = async <E extends EndpointShape>(endpoint: E, operation: MarketRead<E>, params: unknown) => {
    const call = {
      params: endpoint.params?.parse(params),
      query: endpoint.query?.parse({ ...readQuery(query) }),
      caller: null,
    } as MarketCall<E>;
    const answer = await operation(market, call);
    if (!('prepared' in answer)) throw new Error(`${target} has no bytes`);
    const { prepared } = answer;
    const pieces: Uint8Array[] = [];
    if ('pieces' in prepared) for await (const piece of prepared.pieces) pieces.push(piece);
    else pieces.push(prepared.body);
    const text = Buffer.concat(pieces).toString('utf8');
    if (!('pieces' in prepared)) prepared.release?.();
    return { etag: prepared.etag, text };
  };
  if (name === 'shelves') return run(endpoints.browseShelves, makeBrowseShelves(catalog), {});
  if (name === 'listing') return run(endpoints.getListing, makeGetListing(catalog), { id: what });
  if (name === 'store') return run(endpoints.getStore, makeGetStore(catalog), { handle: what });
  if (name === 'merchants') return run(endpoints.listMerchants, makeListMerchants(catalog), {});
  if (name === 'window') return run(endpoints.getWindow, makeGetWindow(catalog, events), {});
  throw new Error(`nothing is known of ${target}`);
}

/** The same, where a refusal is an answer too. */
export async function longWayOrReason(market: TestMarket, target: string): Promise<Said> {
  try {
    return await longWay(market, target);
  } catch (error) {
    if (error instanceof Refusal) return { etag: null, text: error.reason };
    throw error;
  }
}

const shortcuts = new WeakMap<TestMarket, Shortcut>();

/** The way past everything; null where it leaves the request to the long one. */
export function quickAnswer(
  market: TestMarket,
  target: string,
  { gzip = false, ifNoneMatch }: { gzip?: boolean; ifNoneMatch?: string } = {},
): QuickAnswer | null {
  const shortcut = shortcuts.get(market) ?? createQuickReads(market, market);
  shortcuts.set(market, shortcut);
  return shortcut({ target, accept: undefined, ifNoneMatch, acceptsGzip: gzip });
}

/** Bytes taken at once, as they may be written again once they are given back. */
export function quickWay(market: TestMarket, target: string, gzip = false): Said | null {
  const answer = quickAnswer(market, target, { gzip });
  if (answer === null || answer.status !== 200) return null;
  const packed = answer.head.includes('gzip');
  const bytes = 'body' in answer ? Buffer.from(answer.body) : Buffer.concat(answer.pieces);
  const text = (packed ? gunzipSync(bytes) : bytes).toString('utf8');
  answer.release?.();
  return { etag: answer.etag, text };
}
