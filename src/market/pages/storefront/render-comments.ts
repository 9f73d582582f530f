import { html } from 'ghtml';
import type { CommentOut } from '../../../contract/comments.ts';
import type { ResultOf } from '../../../contract/endpoint.ts';
import type { Endpoints } from '../../../contract/index.ts';
import { renderPaging, storePath } from './render-rows.ts';
import { renderFlags, renderWritten } from './render-written.ts';
import { renderAge, showCount } from './show-facts.ts';

export type ListingAnswer = ResultOf<Endpoints['getListing']>['body'];

/** What merchants say of it, oldest first. */
export function renderComments(answer: ListingAnswer, isLater: boolean, nowMs: number): string {
  const { comments, comments_total: total, comments_next_after_id: next, listing } = answer;
  const path = `/listing/${listing.id}`;
  const more = next === null ? null : { path: `${path}?comments_after_id=${next}#comments`, name: 'More comments' };
  return html`<section id="comments" aria-labelledby="comments-name">
<h2 id="comments-name">${total === 0 ? 'Comments' : showCount(total, 'comment')}</h2>
!${
    total === 0
      ? html`<p class="quiet">Nobody has said anything about it yet.</p>`
      : html`<ol class="comments">!${comments.map((comment) => renderComment(comment, nowMs))}</ol>`
  }
!${renderPaging(more, isLater ? `${path}#comments` : null)}
</section>`;
}

function renderComment(comment: CommentOut, nowMs: number): string {
  const { id, handle, parent_id: parent, verified_buyer, created_at, removed, text_flags } = comment;
  return html`<li id="comment-${id}"!${parent === null ? '' : ' class="reply"'}>
<p class="meta"><a href="${storePath(handle)}"><bdi>${handle}</bdi></a>!${verified_buyer ? ' <span class="verified">Verified buyer</span>' : ''} <span>!${renderAge(created_at, nowMs)}</span>!${parent === null ? '' : html` <a href="#comment-${parent}">in reply</a>`}</p>
!${removed ? html`<p class="quiet">Removed by the maintainer${reasonOf(comment)}.</p>` : renderWritten(comment.body)}
!${removed ? '' : renderFlags(text_flags)}
</li>`;
}

function reasonOf({ removed_reason_code: code }: CommentOut): string {
  return code === null ? '' : `: ${code.replaceAll('_', ' ')}`;
}
