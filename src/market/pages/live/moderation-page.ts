import { html } from 'ghtml';
import { Refusal } from '../../../platform/refusal.ts';
import { MAINTAINER_POWERS } from '../../guide/get-official-facts.ts';
import { SHELL } from '../shell/assets.ts';
import type { PagePlan, Scene, Shown } from '../storefront/page-plan.ts';
import { renderEmpty, renderMark, renderPaging, storePath } from '../storefront/render-rows.ts';
import { capitalize, renderDay, renderLine, renderUserText, showNumber } from '../storefront/render-text.ts';
import { KIND_WORDS } from './event-words.ts';
import {
  MODERATION_VIEWS,
  type Moderation,
  type ModerationView,
  readModeration,
  type ShownAppeal,
  type ShownComment,
  type ShownRemoval,
} from './store.ts';

const PATH = '/moderation';
const PAGE = 20;
/** Matches a row id as the routes accept it. */
const ID = /^[1-9]\d{0,15}$/;

const SHOW_WORDS: Readonly<Record<ModerationView, { name: string; none: string }>> = {
  removals: { name: 'Removals', none: 'No listing was ever removed here.' },
  appeals: { name: 'Appeals', none: 'There are no appeals against removals yet.' },
  comments: { name: 'Removed comments', none: 'No comment was ever removed here.' },
};

/** Plans the public page about every use of the maintainer’s powers. */
export function planModeration(query: Readonly<Record<string, string>>): PagePlan {
  const requested = query['show'] ?? '';
  const show = requested === '' ? 'removals' : MODERATION_VIEWS.find((one) => one === requested);
  if (show === undefined)
    throw new Refusal('invalid_query', { detail: `show is one of ${MODERATION_VIEWS.join(', ')}.` });
  const beforeId = query['before_id'] ?? '';
  if (beforeId !== '' && !ID.test(beforeId)) {
    throw new Refusal('cursor_invalid', { detail: 'before_id is the number at which the page before ended.' });
  }
  const start = { limit: PAGE, beforeId: beforeId === '' ? null : BigInt(beforeId) };
  return {
    route: PATH,
    key: pathOf(show, beforeId),
    request: (queryable) => readModeration(queryable, show, start),
    show: (answer, scene) =>
      showModeration(JSON.parse(answer) as Moderation, { show, isLater: beforeId !== '' }, scene),
    back: { path: PATH, name: 'Removals from the newest on' },
  };
}

function showModeration(
  moderation: Moderation,
  { show, isLater }: { show: ModerationView; isLater: boolean },
  { maintainer }: Scene,
): Shown {
  const { totals, next_before_id: next } = moderation;
  return {
    title: 'Moderation - Openaisle',
    path: PATH,
    styles: [SHELL.live.path],
    main: html`<div class="wide moderation">
<h1>Moderation</h1>
<p class="summary">Every use of the maintainer’s powers is public: what was done, why, and what was said against it.</p>
<nav class="views" aria-label="What to show"><ul>!${MODERATION_VIEWS.map(
      (one) =>
        html`<li><a href="${pathOf(one)}"!${one === show ? ' aria-current="page"' : ''}>${SHOW_WORDS[one].name} <span class="count">${showNumber(totals[one])}</span></a></li>`,
    )}<li><a href="/events?kind=moderation">All acts, as a log</a></li><li><a href="/events?kind=maintainer_seed">Its own listings</a></li></ul></nav>
<section aria-labelledby="shown">
<h2 id="shown" class="heard">${SHOW_WORDS[show].name}, newest first</h2>
!${renderCases(moderation, show, maintainer)}
!${renderPaging(next === null ? null : { path: pathOf(show, String(next)), name: 'Older' }, isLater ? pathOf(show) : null)}
</section>
!${renderHowToAppeal()}
!${renderPowers()}
</div>`,
  };
}

function renderCases({ removals, comments }: Moderation, show: ModerationView, maintainer: string | null): string {
  const cases =
    show === 'comments'
      ? comments.map((comment) => renderRemovedComment(comment, maintainer))
      : removals.map((removal) => renderRemoval(removal, maintainer));
  if (cases.length === 0) {
    return renderEmpty(SHOW_WORDS[show].none, { path: '/events?kind=moderation', name: 'All acts of the maintainer' });
  }
  return html`<ol class="cases">!${cases}</ol>`;
}

function renderHowToAppeal(): string {
  return html`<section aria-labelledby="appeal">
<h2 id="appeal">How to appeal</h2>
<p>The merchant of a removed listing can appeal, once for each removal: <code>POST /api/appeal</code> with <code>listing_id</code> and <code>statement</code>. The statement is public, and so are the decision and its reason. The maintainer brings a listing back only after an appeal.</p>
<p>Who bought something before its removal keeps it. A comment that was emptied keeps its place, its author and its replies.</p>
</section>`;
}

function renderPowers(): string {
  return html`<section aria-labelledby="powers">
<h2 id="powers">What the maintainer may do, and others may not</h2>
<p>This is all of it, as <a href="/api/official">official facts</a> have it. Each use is an event of the public log.</p>
<ul class="powers">!${MAINTAINER_POWERS.map(
    ({ power, logged_as: kind, endpoint }) =>
      html`<li><span>${capitalize(power)}</span> <span class="meta"><a href="/events?kind=${kind}">${KIND_WORDS[kind].name}</a> <span><code>${endpoint}</code></span></span></li>`,
  )}</ul>
</section>`;
}

function pathOf(show: ModerationView, beforeId = ''): string {
  const query = new URLSearchParams({
    ...(show === 'removals' ? {} : { show }),
    ...(beforeId === '' ? {} : { before_id: beforeId }),
  });
  return query.size === 0 ? PATH : `${PATH}?${query.toString()}`;
}

function renderRemoval(removal: ShownRemoval, maintainer: string | null): string {
  const { listing_id: id, title, merchant, reason_code, reason, removed_at, restored_at, appeal } = removal;
  const standing = restored_at === null ? { name: 'Removed', is: 'removed' } : { name: 'Restored', is: 'live' };
  return html`<li>
<h3><a href="/listing/${id}">!${title === null ? html`Listing ${id}` : renderLine(title)}</a> <span class="standing ${standing.is}">${standing.name}</span></h3>
<p class="meta"><span>!${title === null ? 'By' : html`Listing ${id} by`} <a href="${storePath(merchant)}"><bdi>${merchant}</bdi></a>!${renderMark({ maintainer: merchant === maintainer })}</span> <span>removed on !${renderDay(removed_at)}</span>!${restored_at === null ? '' : html` <span>restored on !${renderDay(restored_at)}</span>`} <span>reason: ${readableCode(reason_code)}</span></p>
!${reason === null ? '' : html`<div class="said-of"><p class="meta">The maintainer says</p>!${renderUserText(reason)}</div>`}
!${appeal === null ? html`<p class="quiet">There is no appeal.</p>` : renderAppeal(appeal)}
</li>`;
}

function renderAppeal({ statement, created_at, outcome, outcome_reason, decided_at }: ShownAppeal): string {
  const decision = outcome === 'restored' ? 'Granted: the listing was restored' : 'Refused: the removal stands';
  return html`<div class="said-of"><p class="meta">Its merchant appealed on !${renderDay(created_at)}</p>
!${statement === null ? html`<p class="quiet">The words of this appeal are not shown any more: the maintainer emptied them, or the listing was removed again later and shows those of its last removal.</p>` : renderUserText(statement)}</div>
!${
    outcome === null
      ? html`<p class="quiet">The appeal is not decided yet.</p>`
      : html`<div class="said-of"><p class="meta">${decision}!${decided_at === null ? '' : html`, on !${renderDay(decided_at)}`}</p>
!${outcome_reason === null ? '' : renderUserText(outcome_reason)}</div>`
  }`;
}

function renderRemovedComment(comment: ShownComment, maintainer: string | null): string {
  const { comment_id: id, listing_id, author, reason_code, removed_at } = comment;
  const by =
    author === null
      ? ''
      : html` by <a href="${storePath(author)}"><bdi>${author}</bdi></a>!${renderMark({ maintainer: author === maintainer })}`;
  return html`<li>
<h3><span>Comment ${id} on <a href="/listing/${listing_id}#comments">listing ${listing_id}</a></span></h3>
<p class="meta"><span>Written!${by}</span> <span>emptied on !${renderDay(removed_at)}</span> <span>reason: ${readableCode(reason_code)}</span></p>
</li>`;
}

function readableCode(code: string): string {
  return code.replaceAll('_', ' ');
}
