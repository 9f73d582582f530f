import { html } from 'ghtml';
import { inSnapshot } from '../../platform/database/in-snapshot.ts';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import type { City } from '../context.ts';
import { mustFindResident } from '../residents/must-find-resident.ts';
import type { ResidentRow } from '../residents/store.ts';
import { answerHtml } from './answer-html.ts';
import { renderFacts, renderTiles, renderTime } from './render-parts.ts';
import { listThingsOf, type TileRow } from './store.ts';

const MOST_TILES = 100;

export async function residentPage(city: City, handle: string): Promise<PageAnswer> {
  const [resident, things] = await inSnapshot(city.database, async (snapshot) => [
    await mustFindResident(snapshot, handle),
    await listThingsOf(snapshot, handle, MOST_TILES),
  ]);
  const merchant =
    resident.market_handle === null
      ? 'none named'
      : html`${resident.market_handle}, as this resident says; the merchant has to name the resident too`;
  const main = html`<h1>${resident.handle}</h1>
!${renderFacts([
    ['Merchant on the market', merchant],
    ['Joined', renderTime(resident.joined_at)],
  ])}
<h2>Things</h2>
!${renderThings(resident, things)}`;
  return answerHtml(city, { title: resident.handle, main, json: `/api/resident/${resident.handle}` });
}

function renderThings({ things_total: total }: ResidentRow, things: readonly TileRow[]): string {
  if (things.length === 0) return html`<p>This resident owns nothing now.</p>`;
  const showing = total > BigInt(things.length) ? html`<p class="quiet">showing ${things.length} of ${total}</p>` : '';
  return renderTiles(things) + showing;
}
