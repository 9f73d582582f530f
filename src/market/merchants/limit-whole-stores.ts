import type { Endpoints } from '../../contract/index.ts';
import type { Budget, Taken } from '../../platform/budget.ts';
import type { PreparedStream } from '../../platform/http/operation.ts';
import type { MarketCatalog } from '../catalog/market-catalog.ts';
import type { MarketRead } from '../context.ts';
import { merchantNamed } from './store-parts.ts';

/** Of a listing, until it is known. */
const BYTES_OF_LISTING = 2_000;
const MEGABYTE = 1_000_000;
const PAGES = {
  nextStep: 'Ask for pages, which are not counted here: ?limit=50, then before_id. Or wait for Retry-After.',
};

/** A whole store is as long as it is, for a request of one line: its bytes are taken out of a budget before the first of them is sent. */
export function limitWholeStores(
  { catalog, wholeStores }: { catalog: Pick<MarketCatalog, 'model'>; wholeStores: Budget },
  getStore: MarketRead<Endpoints['getStore']>,
): MarketRead<Endpoints['getStore']> {
  return async (market, call) => {
    if (call.query.limit !== undefined) return await getStore(market, call);
    const merchant = merchantNamed(catalog.model(), call.params.handle);
    const bytes = merchant.live.count * BYTES_OF_LISTING;
    const taken = wholeStores.take({ network: call.clientNetwork }, megabytes(bytes), PAGES);
    const answer = await getStore(market, call);
    if (!('prepared' in answer)) return answer;
    const { prepared } = answer;
    if ('pieces' in prepared) return { ...answer, prepared: counted(prepared, taken) };
    taken.settle(megabytes(prepared.body.byteLength));
    return answer;
  };
}

function megabytes(bytes: number): number {
  return bytes / MEGABYTE;
}

/** What was sent is what counts, also where the client has left before the end. */
function counted(stream: PreparedStream, taken: Taken): PreparedStream {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    try {
      for await (const piece of stream.pieces) {
        bytes += piece.byteLength;
        yield piece;
      }
    } finally {
      taken.settle(megabytes(bytes));
    }
  }
  return { ...stream, pieces: pieces() };
}
