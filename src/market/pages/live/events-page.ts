import { html } from 'ghtml';
import type { ResultOf } from '../../../contract/endpoint.ts';
import type { Endpoints } from '../../../contract/index.ts';
import { EVENT_KINDS, SCOPES } from '../../../contract/vocabulary.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { EventRecord } from '../../events/read-events.ts';
import { STREAM_PATH } from '../../events/stream/mount-event-stream.ts';
import { SHELL } from '../shell/assets.ts';
import type { PagePlan, PageRead, Scene, Shown } from '../storefront/page-plan.ts';
import { renderEmpty, renderPaging } from '../storefront/render-rows.ts';
import { showNumber } from '../storefront/render-text.ts';
import { KIND_WORDS, renderEvent } from './event-words.ts';

const PAGE = 50;
const PATH = '/events';

/** Matches a listing id as the route accepts it, or an empty text. */
const LISTING_ID = /^(?:[1-9]\d{0,15})?$/;

type Log = ResultOf<Endpoints['listEvents']>['body'];

/** Filter of the log. The route refuses more than one filter. */
interface LogFilter {
  kind: string;
  scope: string;
  listing_id: string;
}

const NO_FILTER: LogFilter = { kind: '', scope: '', listing_id: '' };

const VIEWS: readonly (LogFilter & { name: string })[] = [
  { ...NO_FILTER, name: 'Everything' },
  { ...NO_FILTER, scope: 'window', name: 'The window' },
  { ...NO_FILTER, scope: 'door', name: 'The front door' },
  { ...NO_FILTER, kind: 'moderation', name: 'Acts of the maintainer' },
];

export function planEvents(query: Readonly<Record<string, string>>): PagePlan {
  const part = {
    kind: query['kind'] ?? '',
    scope: query['scope'] ?? '',
    listing_id: query['listing_id'] ?? '',
  };
  const beforeId = query['before_id'] ?? '';
  const routeQuery = queryOf({ limit: String(PAGE), ...part, before_id: beforeId });
  return {
    route: PATH,
    key: `${PATH}?${routeQuery}`,
    request: explainBadFilter(part) ?? { route: 'GET /api/events', query: routeQuery },
    show: (answer, scene) => showEvents(JSON.parse(answer) as Log, { ...part, isLater: beforeId !== '' }, scene),
    again: () => renderViews(part),
    styles: [SHELL.live.path],
    back: { path: PATH, name: 'The whole log' },
  };
}

/** Explains bad filters to people. Null if the route can decide. */
function explainBadFilter({ kind, scope, listing_id: listing }: LogFilter): PageRead | null {
  const isKnown = (all: readonly string[], name: string): boolean => name === '' || all.includes(name);
  const detail = !isKnown(EVENT_KINDS, kind)
    ? 'There is no kind of event of that name.'
    : !isKnown(SCOPES, scope)
      ? 'There is no view of that name.'
      : [kind, scope, listing].filter((value) => value !== '').length > 1
        ? 'Give a kind, a view or a listing, no two of them.'
        : LISTING_ID.test(listing)
          ? null
          : 'A listing is named by its number.';
  return detail === null ? null : () => Promise.reject(new Refusal('invalid_query', { detail }));
}

function showEvents(log: Log, part: LogFilter & { isLater: boolean }, { config, maintainer }: Scene): Shown {
  const { events, total, next_before_id: next } = log;
  const path = pathOf(PATH, part);
  return {
    title: `${nameOf(part)} - Openaisle`,
    path: PATH,
    styles: [SHELL.live.path],
    head: html`<link rel="alternate" type="application/json" href="${pathOf('/api/events', part)}">
!${part.listing_id === '' ? html`<link rel="alternate" type="text/event-stream" href="${pathOf(STREAM_PATH, part)}">` : ''}`,
    main: html`<div class="wide log">
<h1>${nameOf(part)}</h1>
<p class="summary"><strong>${showNumber(total)}</strong> ${total === 1 ? 'event' : 'events'}, newest first.</p>
<p>The log only grows: nothing in it is ever changed or taken back, and its numbers have no gaps. It tells who did what and when; what people wrote stands with the listings.</p>
!${renderViews(part)}
!${events.length > 0 ? renderRecords(events, maintainer) : renderEmpty('Nothing of this has happened yet.', { path: PATH, name: 'The whole log' })}
!${renderPaging(next === null ? null : { path: pathOf(PATH, part, { before_id: String(next) }), name: 'Older' }, part.isLater ? path : null)}
!${renderForPrograms(part, config.baseUrl)}
</div>`,
  };
}

function renderRecords(events: readonly EventRecord[], maintainer: string | null): string {
  return html`<ol class="records">!${events.map(
    (event) => html`<li id="event-${event.id}">
<p class="said">!${renderEvent(event, maintainer)}</p>
<p class="meta"><span>Event <code>${event.id}</code></span> <span>!${renderMoment(event.at)}</span> <a href="${pathOf(PATH, { ...NO_FILTER, kind: event.kind })}">${event.kind}</a></p>
</li>`,
  )}</ol>`;
}

function renderViews(part: LogFilter): string {
  const isHere = ({ kind, scope, listing_id: listing }: LogFilter): boolean =>
    kind === part.kind && scope === part.scope && listing === part.listing_id;
  return html`<nav class="views" aria-label="Views of the log"><ul>!${VIEWS.map(
    (view) =>
      html`<li><a href="${pathOf(PATH, view)}"!${isHere(view) ? ' aria-current="page"' : ''}>${view.name}</a></li>`,
  )}</ul></nav>
<form class="kinds" action="${PATH}" method="get"><label for="kind">One kind only</label><select id="kind" name="kind"><option value="">Every kind</option>!${EVENT_KINDS.map(
    (kind) => html`<option value="${kind}"!${kind === part.kind ? ' selected' : ''}>${KIND_WORDS[kind].name}</option>`,
  )}</select><button type="submit">Show</button></form>`;
}

function renderForPrograms(part: LogFilter, baseUrl: string): string {
  const json = pathOf('/api/events', part);
  return html`<section aria-labelledby="programs">
<h2 id="programs">For programs</h2>
<p>The same as <a href="${json}">JSON</a>.!${part.listing_id === '' ? ' As it grows, as server-sent events:' : ''}</p>
!${part.listing_id === '' ? html`<p class="shown"><code>curl -N '${baseUrl}${pathOf(STREAM_PATH, part)}'</code></p>` : ''}
</section>`;
}

function nameOf({ kind, scope, listing_id: listing }: LogFilter): string {
  if (listing !== '') return `The history of listing ${listing}`;
  const eventKind = EVENT_KINDS.find((one) => one === kind);
  if (eventKind !== undefined) return KIND_WORDS[eventKind].name;
  const view = SCOPES.find((one) => one === scope);
  return view === undefined ? 'Events' : `Events in ${view === 'door' ? 'the front door' : 'the window'}`;
}

function pathOf(
  path: string,
  { kind, scope, listing_id }: LogFilter,
  more: Readonly<Record<string, string>> = {},
): string {
  const query = queryOf({ kind, scope, listing_id, ...more });
  return query === '' ? path : `${path}?${query}`;
}

/** Builds a query without empty values. */
function queryOf(parameters: Readonly<Record<string, string>>): string {
  return new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== '')).toString();
}

/** Renders the time to the second. */
function renderMoment(iso: string): string {
  const [day = '', time = ''] = iso.split('T');
  return html`<time datetime="${iso}" title="${iso}">${day} ${time.slice(0, 'hh:mm:ss'.length)} UTC</time>`;
}
