import { hash } from 'node:crypto';
import type { QueryOf } from '../../contract/endpoint.ts';
import type { CommentOut } from '../../contract/feedback.ts';
import type { Endpoints } from '../../contract/index.ts';
import { getListing } from '../../contract/listings.ts';
import { AISLES, PAGE_SIZES } from '../../contract/vocabulary.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Prepared } from '../../platform/http/operation.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { MarketRead } from '../context.ts';
import { JSON_PLAIN, type MemoryRead, MOST_ATTEMPTS, readAbsentFragments, readQueryAs } from './answers.ts';
import { type Fragments, STAMP_BYTES } from './fragments/fragments.ts';
import type { MarketCatalog } from './market-catalog.ts';
import { isFilled, LIVE, type Model } from './model/model.ts';
import { artifactMessage, presentComment } from './present-listing.ts';
import { readCommentPage } from './store.ts';

const PREFIX = '{"listing":';
/** The JSON of `presentEnding` for a live listing without an appeal. */
const LIVE_JSON =
  '"removed":false,"removed_at":null,"removed_reason":null,"removed_reason_code":null,"withdrawn":false,"withdrawn_at":null,"withdrawn_reason":null,"appeal":null,"world_receipt":null';

function isListed(model: Model, id: number): boolean {
  return (model.columns.state[id] ?? 0) !== 0;
}

function hasComments(model: Model, id: number): boolean {
  return (model.columns.comments[id] ?? 0) > 0;
}

/** Returns the JSON after the summary, beginning with the comma that replaces its closing brace. Null if there is no such listing. */
function detailTail(model: Model, id: number, comments: string): string | null {
  const state = model.columns.state[id] ?? 0;
  if (state === 0) return null;
  const ending = model.endings.get(id);
  if (state === LIVE && ending === undefined) {
    const message = artifactMessage({ id, state: 'live', aisle: AISLES[model.columns.aisle[id] ?? 0] ?? 'other' });
    return `,${LIVE_JSON}},${comments},"artifact":"${message}"}`;
  }
  if (ending === undefined) throw new Error(`listing ${id} is not live and nothing says why`);
  return `,${ending.json}},${comments},"artifact":${JSON.stringify(ending.message)}}`;
}

/** Formats a page of comments as members of the detail, without braces. */
function commentsJson(comments: readonly CommentOut[], total: number, limit: number, hasMore: boolean): string {
  const members = {
    comments,
    comments_total: total,
    comments_returned: comments.length,
    comments_page_size: limit,
    comments_has_more: hasMore,
    comments_next_after_id: hasMore ? (comments.at(-1)?.id ?? null) : null,
  };
  return JSON.stringify(members).slice(1, -1);
}

const NO_COMMENTS = emptyPage(PAGE_SIZES.comments);

function noComments(limit: number): string {
  return limit === PAGE_SIZES.comments ? NO_COMMENTS : emptyPage(limit);
}

function emptyPage(limit: number): string {
  return commentsJson([], 0, limit, false);
}

/** Returns the whole body, or null if the summary is not in memory. */
function joinDetail(fragments: Fragments, id: number, tail: string): Buffer | null {
  if (!fragments.has(id)) return null;
  const size = fragments.size(id);
  const body = Buffer.allocUnsafe(PREFIX.length + size - 1 + Buffer.byteLength(tail));
  body.write(PREFIX, 0, 'latin1');
  fragments.copy(id, body, PREFIX.length);
  body.write(tail, PREFIX.length + size - 1);
  return body;
}

const ID = /^[1-9]\d{0,8}$/;
const stamp = Buffer.alloc(STAMP_BYTES);
const FIRST_PAGE = getListing.query.parse({});

/** Answers GET /api/listing/:id for listings without comments, because only the database has comments. */
export function listingFromMemory(catalog: Pick<MarketCatalog, 'model'>): MemoryRead {
  return ({ name, query: text }) => {
    const id = ID.test(name) ? Number(name) : 0;
    const model = catalog.model();
    if (!isFilled(model, id) || hasComments(model, id)) return null;
    const query = text === '' ? FIRST_PAGE : readQueryAs(getListing.query, text);
    if (query === null || query.comments_after_id !== undefined) return null;
    const tail = detailTail(model, id, noComments(query.comments_limit));
    const body = tail === null ? null : joinDetail(model.fragments, id, tail);
    return tail === null || body === null ? null : prepareDetail(model, id, body, tail);
  };
}

/** Handles what memory cannot answer: comments, evicted listings and refusals. */
export function makeGetListing(catalog: MarketCatalog): MarketRead<Endpoints['getListing']> {
  return async ({ database }, call) => {
    const id = Number(call.params.id);
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      if (!isListed(catalog.model(), id)) throw noListing(call.params.id);
      const { json: comments, buyers } = await readComments(catalog.model(), database, call.params.id, call.query);
      // Each verified buyer implies a sale of this listing, so more buyers than sales means that the model is behind.
      if (buyers > (catalog.model().columns.sales[id] ?? 0)) await catalog.fresh();
      const prepared = await answerWith(catalog, database, id, comments);
      if (prepared !== null) return { status: 200, prepared };
    }
    throw new Refusal('unavailable', { retryAfterSeconds: 1 });
  };
}

/** Answers from one moment of the model. Comments come from the database, which is never behind. Null if the caller must retry. */
async function answerWith(
  catalog: MarketCatalog,
  database: Database,
  id: number,
  comments: string,
): Promise<Prepared | null> {
  const model = catalog.model();
  if (!isFilled(model, id)) {
    await catalog.loadListings([id]);
    return null;
  }
  const tail = detailTail(model, id, comments);
  if (tail === null) throw noListing(BigInt(id));
  const body = joinDetail(model.fragments, id, tail);
  if (body !== null) return prepareDetail(model, id, body, tail);
  const tag = detailTag(model, id, tail);
  const summary = (await readAbsentFragments(model, database, [id]))?.get(id)?.bytes;
  // The model may have changed while the summary was read.
  if (summary !== undefined && detailTail(model, id, comments) === tail && detailTag(model, id, tail) === tag) {
    return prepareDetail(
      model,
      id,
      Buffer.concat([Buffer.from(PREFIX), summary.subarray(0, -1), Buffer.from(tail)]),
      tail,
    );
  }
  await catalog.fresh();
  return null;
}

function noListing(id: bigint): Refusal {
  return new Refusal('not_found', { detail: `There is no listing ${id}.` });
}

/** Queries the database only if there are comments or a cursor to check. */
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
  return { json: commentsJson(comments, Number(total), limit, rows.length > limit), buyers };
}

function prepareDetail(model: Model, id: number, body: Uint8Array, tail: string): Prepared {
  return { etag: detailTag(model, id, tail), head: JSON_PLAIN, body };
}

/** Combines the stamp of the summary with 96 bits of a hash of the rest. */
function detailTag(model: Model, id: number, tail: string): string {
  model.fragments.stampInto(id, stamp, 0);
  return `"${stamp.toString('base64url')}.${hash('sha256', tail, 'base64url').slice(0, 16)}"`;
}
