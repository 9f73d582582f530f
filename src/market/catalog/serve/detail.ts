import { PAGE_SIZES } from '../../../contract/vocabulary.ts';
import type { Fragments } from '../fragments/fragments.ts';
import { LIVE, type Model } from '../model/model.ts';
import { artifactMessage } from '../present-listing.ts';

const PREFIX = '{"listing":';
/** What `presentEnding` says of every live listing. */
const LIVE_JSON =
  '"removed":false,"removed_at":null,"removed_reason":null,"removed_reason_code":null,"withdrawn":false,"withdrawn_at":null,"withdrawn_reason":null,"appeal":null';

/** What a detail says beyond the summary, from the comma that takes the place of the summary's closing brace. Null: no such listing. */
export function detailTail(model: Model, id: number, commentsLimit: number): string | null {
  const state = model.columns.state[id] ?? 0;
  if (state === 0) return null;
  const ending = model.endings.get(id);
  if (state === LIVE && ending === undefined) {
    return `,${LIVE_JSON}},${commentsOf(commentsLimit)},"artifact":"${artifactMessage({ id, state: 'live' })}"}`;
  }
  if (ending === undefined) throw new Error(`listing ${id} is not live and nothing says why`);
  return `,${ending.json}},${commentsOf(commentsLimit)},"artifact":${JSON.stringify(ending.message)}}`;
}

function commentsOf(limit: number): string {
  return limit === PAGE_SIZES.comments ? NO_COMMENTS : noComments(limit);
}

/** Nobody can comment yet. */
function noComments(limit: number): string {
  return `"comments":[],"comments_total":0,"comments_returned":0,"comments_page_size":${limit},"comments_has_more":false,"comments_next_after_id":null`;
}

const NO_COMMENTS = noComments(PAGE_SIZES.comments);

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
