import { gunzipSync } from 'node:zlib';
import type { EndpointShape } from '../../src/contract/endpoint.ts';
import { endpoints } from '../../src/contract/index.ts';
import { makeGetListing } from '../../src/market/catalog/get-listing.ts';
import { makeBrowseShelves } from '../../src/market/catalog/shelf/browse-shelves.ts';
import type { MarketCall, MarketRead } from '../../src/market/context.ts';
import { makeGetWindow } from '../../src/market/get-window.ts';
import { makeGetStore } from '../../src/market/merchants/get-store.ts';
import { makeListMerchants } from '../../src/market/merchants/list-merchants.ts';
import { createReadFromMemory } from '../../src/market/operations.ts';
import { readQuery } from '../../src/platform/http/message.ts';
import type { MemoryAnswer, ReadFromMemory } from '../../src/platform/http/operation.ts';
import { Refusal } from '../../src/platform/refusal.ts';
import type { TestMarket } from '../support/market-context.ts';

/** Parts of an answer that must be equal in every process. */
export interface Said {
  etag: string | null;
  text: string;
}

/** Calls the operation behind a URL as the server does. Unlike `memoryAnswer`, it may read the database. */
export async function askOperation(market: TestMarket, target: string): Promise<Said> {
  const { catalog, events } = market;
  const [path = '', query = ''] = target.split('?');
  const [, , name = '', what = ''] = path.split('/');
  const run = async <E extends EndpointShape>(endpoint: E, operation: MarketRead<E>, params: unknown) => {
    const call = {
      params: endpoint.params?.parse(params),
      query: endpoint.query?.parse({ ...readQuery(query) }),
      caller: null,
      path: target,
      acceptsGzip: false,
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

/** Like `askOperation`, but returns a refusal as a normal answer. */
export async function askOrReason(market: TestMarket, target: string): Promise<Said> {
  try {
    return await askOperation(market, target);
  } catch (error) {
    if (error instanceof Refusal) return { etag: null, text: error.reason };
    throw error;
  }
}

const readers = new WeakMap<TestMarket, ReadFromMemory>();
/** Makes readers answer as for a client that has just written, so that no cached page is older than the model. */
const EXACT = { leastVersion: () => Number.POSITIVE_INFINITY };

/** Answers from memory. Null if only the operation can answer. The caller must release the bytes. */
export function memoryAnswer(market: TestMarket, target: string, gzip = false): MemoryAnswer | null {
  const read = readers.get(market) ?? createReadFromMemory(market, EXACT);
  readers.set(market, read);
  return read({ target, accept: undefined, acceptsGzip: gzip, hasKey: false, network: () => '' });
}

/** Answers from memory and copies the bytes at once, because released ones may be overwritten. */
export function fromMemory(market: TestMarket, target: string, gzip = false): Said | null {
  const answer = memoryAnswer(market, target, gzip);
  if (answer === null) return null;
  const bytes = Buffer.from(answer.body);
  const text = (answer.head.includes('gzip') ? gunzipSync(bytes) : bytes).toString('utf8');
  answer.release?.();
  return { etag: answer.etag, text };
}
