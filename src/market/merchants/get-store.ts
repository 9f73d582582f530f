import type { Endpoints } from '../../contract/index.ts';
import { getStore } from '../../contract/listings.ts';
import type { Budget, Reservation } from '../../platform/budget.ts';
import type { Database } from '../../platform/database/database.ts';
import type { PreparedStream } from '../../platform/http/operation.ts';
import { Refusal } from '../../platform/refusal.ts';
import { type MemoryRead, readAbsentFragments, readQueryAs } from '../catalog/answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { joinPage, type PageParts } from '../catalog/fragments/page-bytes.ts';
import type { MarketCatalog } from '../catalog/market-catalog.ts';
import { areFilled, LIVE, type MerchantEntry, type Model } from '../catalog/model/model.ts';
import { memberBelow } from '../catalog/sets/posting.ts';
import type { MarketRead } from '../context.ts';
import { merchantJson } from './present-merchant.ts';

const HANDLE = /^[a-z0-9-]{1,64}$/;

/** Up to this many live listings, a whole store is an ordinary page with an ETag. */
const LARGEST_PAGE = 500;

/** Answers store pages from memory. Leaves whole stores to the operation, which charges a budget for them. */
export function storeFromMemory({ answers }: MarketCatalog): MemoryRead {
  return ({ name: handle, query, request }) => {
    if (query === '' || !HANDLE.test(handle)) return null;
    const { limit, before_id: beforeId = 0n, fields } = readQueryAs(getStore.query, query) ?? {};
    if (limit === undefined) return null;
    const outline = fields === 'outline';
    return answers.fromMemory(request, (model) =>
      storeParts(model, { handle, limit, beforeId: Number(beforeId), outline }),
    );
  };
}

export function makeGetStore(catalog: MarketCatalog): MarketRead<Endpoints['getStore']> {
  return async ({ database }, call) => {
    const { handle } = call.params;
    const limit = call.query.limit ?? null;
    const beforeId = Number(call.query.before_id ?? 0n);
    const outline = call.query.fields === 'outline';
    const merchant = mustFindMerchant(catalog.model(), handle);
    checkBefore(catalog.model(), merchant, beforeId);
    if (limit === null && merchant.live.count > LARGEST_PAGE) {
      return { status: 200, prepared: streamStore({ catalog, database }, { handle, beforeId, outline }) };
    }
    return {
      status: 200,
      prepared: await catalog.answers.full({ target: call.path, acceptsGzip: call.acceptsGzip }, (model) =>
        storeParts(model, { handle, limit, beforeId, outline }),
      ),
    };
  };
}

interface StoreRequest {
  handle: string;
  /** Null for all listings. */
  limit: number | null;
  /** 0 starts at the newest listing. */
  beforeId: number;
  outline: boolean;
}

function mustFindMerchant(model: Model, handle: string): MerchantEntry {
  const merchant = model.merchantOfHandle.get(handle);
  if (merchant === undefined) throw new Refusal('not_found', { detail: 'No merchant has that handle.' });
  return merchant;
}

/** Accepts any listing of the merchant, because each was live at first and may have been on a page of the store. */
function checkBefore(model: Model, merchant: MerchantEntry, beforeId: number): void {
  if (beforeId !== 0 && model.columns.merchant[beforeId] !== merchant.id)
    throw new Refusal('cursor_invalid', { detail: 'before_id does not name a listing of this store.' });
}

/** Builds one page of a store, newest first, regardless of pins. */
function storeParts(model: Model, { handle, limit, beforeId, outline }: StoreRequest): PageParts {
  const merchant = mustFindMerchant(model, handle);
  checkBefore(model, merchant, beforeId);
  const ids = liveIdsBelow(merchant, beforeId === 0 ? model.newestId + 1 : beforeId, limit ?? merchant.live.count);
  const last = ids.at(-1);
  const hasMore = last !== undefined && memberBelow(merchant.live, last) > 0;
  const rest = {
    total: merchant.live.count,
    returned: ids.length,
    page_size: limit ?? ids.length,
    has_more: hasMore,
    next_before_id: hasMore ? last : null,
  };
  return {
    prefix: storePrefix(merchant),
    ids,
    suffix: Buffer.from(`],${JSON.stringify(rest).slice(1)}`),
    outline,
  };
}

function storePrefix(merchant: MerchantEntry): Buffer {
  return Buffer.concat([Buffer.from('{"merchant":'), merchantJson(merchant), Buffer.from(',"listings":[')]);
}

/** Returns the ids of live listings, newest first. */
function liveIdsBelow(merchant: MerchantEntry, below: number, limit: number): number[] {
  const ids: number[] = [];
  for (let id = memberBelow(merchant.live, below); id > 0 && ids.length < limit; id = memberBelow(merchant.live, id)) {
    ids.push(id);
  }
  return ids;
}

/** Estimated size of a listing, used until the sent bytes are known. */
const BYTES_OF_LISTING = 2_000;
const MEGABYTE = 1_000_000;
const HOW_TO_PAGE = {
  nextStep: 'Read the store in pages, which do not count here: ?limit=50, then before_id. Or wait for Retry-After.',
};

/** Charges a budget for answers that contain a whole store, which may be large, before the first byte is sent. */
export function limitWholeStores(
  { catalog, wholeStores }: { catalog: Pick<MarketCatalog, 'model'>; wholeStores: Budget },
  operation: MarketRead<Endpoints['getStore']>,
): MarketRead<Endpoints['getStore']> {
  return async (market, call) => {
    if (call.query.limit !== undefined) return await operation(market, call);
    const merchant = mustFindMerchant(catalog.model(), call.params.handle);
    const bytes = merchant.live.count * BYTES_OF_LISTING;
    const reservation = wholeStores.take({ network: call.clientNetwork }, toMegabytes(bytes), HOW_TO_PAGE);
    const answer = await operation(market, call);
    if (!('prepared' in answer)) return answer;
    const { prepared } = answer;
    if ('pieces' in prepared) return { ...answer, prepared: countBytes(prepared, reservation) };
    reservation.adjustTo(toMegabytes(prepared.body.byteLength));
    return answer;
  };
}

function toMegabytes(bytes: number): number {
  return bytes / MEGABYTE;
}

/** Charges the bytes that were sent, even if the client leaves early. */
function countBytes(stream: PreparedStream, reservation: Reservation): PreparedStream {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    try {
      for await (const piece of stream.pieces) {
        bytes += piece.byteLength;
        yield piece;
      }
    } finally {
      reservation.adjustTo(toMegabytes(bytes));
    }
  }
  return { ...stream, pieces: pieces() };
}

const BATCH_SIZE = 100;
const NO_BYTES = new Uint8Array();

interface StoreSource {
  catalog: Pick<Catalog, 'model' | 'fresh' | 'loadListings'>;
  database: Database;
}

/** Streams a whole store of any size. Listings may change while it is sent and are counted at the end, so there is no ETag. */
function streamStore(source: StoreSource, store: Omit<StoreRequest, 'limit'>): PreparedStream {
  return { etag: null, head: ['content-type', 'application/json; charset=utf-8'], pieces: piecesOf(source, store) };
}

async function* piecesOf(
  { catalog, database }: StoreSource,
  { handle, beforeId, outline }: Omit<StoreRequest, 'limit'>,
): AsyncGenerator<Uint8Array> {
  const first = mustFindMerchant(catalog.model(), handle);
  yield storePrefix(first);
  let below = beforeId === 0 ? catalog.model().newestId + 1 : beforeId;
  let sent = 0;
  for (;;) {
    const model = catalog.model();
    const batch = liveIdsBelow(mustFindMerchant(model, handle), below, BATCH_SIZE);
    const last = batch.at(-1);
    if (last === undefined) break;
    if (!areFilled(model, batch)) {
      await catalog.loadListings(batch);
      continue;
    }
    const absentFragments = await readAbsentFragments(model, database, batch);
    const current = batch.filter((id) => model.columns.state[id] === LIVE);
    const page =
      absentFragments &&
      joinPage(model.pages, {
        prefix: NO_BYTES,
        ids: current,
        suffix: NO_BYTES,
        outline,
        absentFragments,
      });
    if (page === null) {
      await catalog.fresh();
      continue;
    }
    below = last;
    if (current.length > 0) {
      // Copy the bytes, because the buffer may be overwritten once it is released.
      const bytes = Buffer.concat([Buffer.from(sent > 0 ? ',' : ''), page.body]);
      sent += current.length;
      page.release();
      yield bytes;
    } else page.release();
  }
  const total = beforeId === 0 ? sent : mustFindMerchant(catalog.model(), handle).live.count;
  const rest = { total, returned: sent, page_size: sent, has_more: false, next_before_id: null };
  yield Buffer.from(`],${JSON.stringify(rest).slice(1)}`);
}
