import { html } from 'ghtml';
import type { ThingOut } from '../../contract/world-records.ts';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { City } from '../context.ts';
import { drawEmblem } from '../things/draw-emblem.ts';
import { readThing } from '../things/read-thing.ts';
import { findThing } from '../things/store.ts';
import { answerHtml } from './answer-html.ts';
import { renderFacts, renderOffer, renderResident, renderTime } from './render-parts.ts';

export async function thingPage(city: City, id: bigint): Promise<PageAnswer> {
  const thing = await readThing(city, id);
  const main = html`<h1>${thing.name}</h1>
<img class="picture" src="/thing/${thing.id}/picture.svg" width="400" height="400" alt="">
!${renderFacts([
    ['Owner', renderResident(thing.owner)],
    ['State', stateOf(thing)],
    ['Number', html`<code>${thing.id}</code>`],
    ['Made', renderTime(thing.created_at)],
  ])}
<h2>Who owned it</h2>
!${renderHistory(thing)}`;
  return answerHtml(city, { title: thing.name, main, json: `/api/thing/${thing.id}` });
}

function stateOf({ offer_id: offerId }: ThingOut): string {
  return offerId === null ? 'not for sale' : html`under !${renderOffer(offerId)}; it cannot be moved until that ends`;
}

function renderHistory(thing: ThingOut): string {
  const { history, history_total: total } = thing;
  const rows = history.map(
    ({ owner, from, offer_id: offerId }, at) =>
      html`<tr><td>!${renderResident(owner)}</td><td>!${renderTime(from)}</td><td>!${cameBy(offerId, total - at)}</td></tr>`,
  );
  const showing = total > history.length ? html`<p class="quiet">showing ${history.length} of ${total}</p>` : '';
  return html`<table><thead><tr><th>Owner</th><th>Since</th><th>By</th></tr></thead><tbody>!${rows}</tbody></table>!${showing}`;
}

/** `nth` is 1 for who made it. */
function cameBy(offerId: number | null, nth: number): string {
  if (offerId !== null) return html`sale, !${renderOffer(offerId)}`;
  return nth === 1 ? 'made it' : 'gift';
}

/** Neither id nor name of a thing ever changes, and so its picture does not. */
export async function thingPicture({ database }: Pick<City, 'database'>, id: bigint): Promise<PageAnswer> {
  const thing = await findThing(database, id);
  if (thing === null) throw new Refusal('not_found', { detail: 'There is no such thing.' });
  return {
    status: 200,
    headers: {
      'content-type': 'image/svg+xml; charset=utf-8',
      'content-security-policy': "default-src 'none'; sandbox",
    },
    body: drawEmblem(thing),
  };
}
