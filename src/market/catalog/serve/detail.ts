import type { CommentOut } from '../../../contract/comments.ts';
import { AISLES, PAGE_SIZES } from '../../../contract/vocabulary.ts';
import type { Fragments } from '../fragments/fragments.ts';
import { LIVE, type Model } from '../model/model.ts';
import { artifactMessage } from '../present-listing.ts';

const PREFIX = '{"listing":';
/** What `presentEnding` says of every live listing. */
const LIVE_JSON =
  '"removed":false,"removed_at":null,"removed_reason":null,"removed_reason_code":null,"withdrawn":false,"withdrawn_at":null,"withdrawn_reason":null,"appeal":null,"world_receipt":null';

/** Whether the model knows of that listing, in whatever state. */
export function isListed(model: Model, id: number): boolean {
  return (model.columns.state[id] ?? 0) !== 0;
}

export function hasComments(model: Model, id: number): boolean {
  return (model.columns.comments[id] ?? 0) > 0;
}

/**
 * What a detail says beyond the summary, from the comma that takes the place of the summary's closing brace; the page of comments is
 * handed in. Null: no such listing.
 */
export function detailTail(model: Model, id: number, comments: string): string | null {
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

/** A page of comments as it stands in a detail, between its neighbours. */
export function commentsJson(page: {
  comments: readonly CommentOut[];
  total: number;
  limit: number;
  hasMore: boolean;
}): string {
  const { comments, total, limit, hasMore } = page;
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

export const NO_COMMENTS = emptyPage(PAGE_SIZES.comments);

export function noComments(limit: number): string {
  return limit === PAGE_SIZES.comments ? NO_COMMENTS : emptyPage(limit);
}

function emptyPage(limit: number): string {
  return commentsJson({ comments: [], total: 0, limit, hasMore: false });
}

/** The whole body; null when the summary left memory. */
export function joinDetail(fragments: Fragments, id: number, tail: string): Buffer | null {
  if (!fragments.held(id)) return null;
  const size = fragments.size(id);
  const body = Buffer.allocUnsafe(PREFIX.length + size - 1 + Buffer.byteLength(tail));
  body.write(PREFIX, 0, 'latin1');
  fragments.copy(id, body, PREFIX.length);
  body.write(tail, PREFIX.length + size - 1);
  return body;
}

export function wrapDetail(summary: Uint8Array, tail: string): Buffer {
  return Buffer.concat([Buffer.from(PREFIX), summary.subarray(0, -1), Buffer.from(tail)]);
}
