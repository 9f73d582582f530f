import { hash } from 'node:crypto';
import type { QueryOf } from '../../contract/endpoint.ts';
import type { Endpoints } from '../../contract/index.ts';
import { getListing } from '../../contract/listings.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Prepared } from '../../platform/http/prepared.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { MarketRead } from '../context.ts';
import { presentComment } from './comments/present-comment.ts';
import { readCommentPage } from './comments/store.ts';
import type { MarketCatalog } from './market-catalog.ts';
import { isFilled } from './model/is-filled.ts';
import type { Model } from './model/model.ts';
import { commentsJson, detailTail, hasComments, isListed, joinDetail, noComments, wrapDetail } from './serve/detail.ts';
import { type MemoryRead, readQueryAs } from './serve/memory-read.ts';
import { readAbsent } from './serve/read-absent.ts';

const HEAD = ['content-type', 'application/json; charset=utf-8', 'vary', 'accept-encoding'];
const ID = /^[1-9]\d{0,8}$/;
const STAMP_BYTES = 8;
const stamp = Buffer.alloc(STAMP_BYTES);
const FIRST_PAGE = getListing.query.parse({});

/** A row that changes between model and database is met again after the next step. */
const ROUNDS = 10;

/** GET /api/listing/:id of a listing without comments: those are in the database alone. */
export function listingFromMemory(catalog: Pick<MarketCatalog, 'model'>): MemoryRead {
  return ({ name, query }) => {
    const id = ID.test(name) ? Number(name) : 0;
    const model = catalog.model();
    if (!isFilled(model, id) || hasComments(model, id)) return null;
    const asked = query === '' ? FIRST_PAGE : readQueryAs(getListing.query, query);
    if (asked === null || asked.comments_after_id !== undefined) return null;
    const tail = detailTail(model, id, noComments(asked.comments_limit));
    const body = tail === null ? null : joinDetail(model.fragments, id, tail);
    return tail === null || body === null ? null : prepareDetail(model, id, body, tail);
  };
}

/** The same with what is in the database alone, comments among it, and with its refusals. */
export function makeGetListing(catalog: MarketCatalog): MarketRead<Endpoints['getListing']> {
  return async ({ database }, call) => {
    const id = Number(call.params.id);
    for (let round = 0; round < ROUNDS; round += 1) {
      if (!isListed(catalog.model(), id)) throw noListing(call.params.id);
      const { json: comments, buyers } = await readComments(catalog.model(), database, call.params.id, call.query);
      // A purchase that makes a verified buyer is also a sale of this listing: more buyers than sales means that the model lags.
      if (buyers > (catalog.model().columns.sales[id] ?? 0)) await catalog.fresh();
      const prepared = await answerWith(catalog, database, id, comments);
      if (prepared !== null) return { status: 200, prepared };
    }
    throw new Refusal('unavailable', { retryAfterSeconds: 1 });
  };
}

/** All of one moment of the model, but the comments: they are of the database, which is never behind it. Null: the next step knows more. */
async function answerWith(
  catalog: MarketCatalog,
  database: Database,
  id: number,
  comments: string,
): Promise<Prepared | null> {
  const model = catalog.model();
  if (!isFilled(model, id)) {
    await catalog.bring([id]);
    return null;
  }
  const tail = detailTail(model, id, comments);
  if (tail === null) throw noListing(BigInt(id));
  const body = joinDetail(model.fragments, id, tail);
  if (body !== null) return prepareDetail(model, id, body, tail);
  const tag = detailTag(model, id, tail);
  const summary = (await readAbsent(model, database, [id]))?.get(id)?.bytes;
  // While it was read, what the model knows of it may have changed.
  if (summary !== undefined && detailTail(model, id, comments) === tail && detailTag(model, id, tail) === tag) {
    return prepareDetail(model, id, wrapDetail(summary, tail), tail);
  }
  await catalog.fresh();
  return null;
}

function noListing(id: bigint): Refusal {
  return new Refusal('not_found', { detail: `There is no listing ${id}.` });
}

/** The database is asked only where there is something to ask it for. */
async function readComments(
  model: Model,
  database: Database,
  listingId: bigint,
  query: QueryOf<Endpoints['getListing']>,
): Promise<{ json: string; buyers: number }> {
  const { comments_limit: limit, comments_after_id: afterId = null } = query;
  if (afterId === null && !hasComments(model, Number(listingId))) return { json: noComments(limit), buyers: 0 };
  const { total, cursorKnown, rows } = await readCommentPage(database, { listingId, afterId, limit: limit + 1 });
  if (!cursorKnown)
    throw new Refusal('cursor_invalid', { detail: 'comments_after_id does not name a comment of this listing.' });
  const comments = rows.slice(0, limit).map(presentComment);
  const buyers = new Set(comments.flatMap(({ handle, verified_buyer }) => (verified_buyer ? [handle] : []))).size;
  return { json: commentsJson({ comments, total: Number(total), limit, hasMore: rows.length > limit }), buyers };
}

function prepareDetail(model: Model, id: number, body: Uint8Array, tail: string): Prepared {
  return { etag: detailTag(model, id, tail), head: HEAD, body };
}

/** The stamp stands for the summary; 96 bits of a hash for the rest. */
function detailTag(model: Model, id: number, tail: string): string {
  model.fragments.stampInto(id, stamp, 0);
  return `"${stamp.toString('base64url')}.${hash('sha256', tail, 'base64url').slice(0, 16)}"`;
}
