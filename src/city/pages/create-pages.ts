import { html } from 'ghtml';
import { cityEndpoints } from '../../contract/city.ts';
import type { Network } from '../../contract/networks.ts';
import { describeOpenApi } from '../../contract/openapi.ts';
import { CITY_TAGS, CITY_TEXTS } from '../../contract/openapi-city-texts.ts';
import { idParam } from '../../contract/paging.ts';
import { API_VERSION } from '../../contract/vocabulary.ts';
import type { ThingOut } from '../../contract/world-records.ts';
import { inSnapshot } from '../../platform/database/database.ts';
import { isUnavailable, whyUnavailable } from '../../platform/database/database-error.ts';
import { migrationsSuffice } from '../../platform/database/migrate.ts';
import { createWriteProbe, type WriteProbe } from '../../platform/database/write-probe.ts';
import { answerAsset } from '../../platform/http/assets.ts';
import { type AnyPageRoute, type Page, type PageAnswer, page } from '../../platform/http/server-options.ts';
import type { HistoryStatus } from '../../platform/log-copy/place.ts';
import { Refusal } from '../../platform/refusal.ts';
import { secretPattern } from '../../platform/secrets.ts';
import { MIGRATIONS } from '../config.ts';
import type { City } from '../context.ts';
import { mustFindResident, type ResidentRow } from '../residents/store.ts';
import { readThing } from '../things/read-thing.ts';
import { findThing, listThingsOf, type TileRow } from '../things/store.ts';
import {
  ASSETS,
  answerHtml,
  answerRefused,
  drawEmblem,
  renderFacts,
  renderOffer,
  renderResident,
  renderTiles,
  renderTime,
} from './answer-html.ts';
import { errorIndex, errorPage, frontPage, SUMMARY } from './index-pages.ts';
import { offerPage } from './offer-page.ts';

/** Creates routes that are not endpoints of the contract. */
export function createPages(city: City, sources: Omit<HealthSources, 'writes'>): AnyPageRoute[] {
  const forPeople = (path: string, handler: Page['handler']): Page =>
    page({ method: 'GET', path, handler, refused: (refusal) => answerRefused(city, refusal) });
  const writes = createWriteProbe(city);
  return [
    page({ method: 'GET', path: '/', handler: ({ accept }) => frontPage(city, accept) }),
    forPeople('/thing/:id', ({ params }) => thingPage(city, readId(params))),
    forPeople('/resident/:handle', ({ params }) => residentPage(city, params['handle'] ?? '')),
    forPeople('/offer/:id', ({ params }) => offerPage(city, readId(params))),
    page({
      method: 'GET',
      path: '/thing/:id/picture.svg',
      cache: 'immutable',
      handler: ({ params }) => thingPicture(city, readId(params)),
    }),
    page({ method: 'GET', path: '/docs/errors', handler: ({ accept }) => errorIndex(city, accept) }),
    page({
      method: 'GET',
      path: '/docs/errors/:reason',
      handler: ({ accept, params }) => errorPage(city, accept, params['reason'] ?? ''),
    }),
    page({ method: 'GET', path: '/openapi.json', handler: createOpenApiPage(city.config) }),
    page({
      method: 'GET',
      path: '/assets/:name',
      cache: 'immutable',
      handler: ({ params }) => answerAsset(ASSETS, params['name'] ?? ''),
    }),
    page({ method: 'GET', path: '/healthz', cache: 'private', unlimited: true, handler: answerHealthz }),
    page({
      method: 'GET',
      path: '/readyz',
      cache: 'private',
      unlimited: true,
      handler: ({ query }) => answerReadyz(city, { ...sources, writes }, query['strict'] !== undefined),
    }),
  ];
}

function readId(params: Readonly<Record<string, string>>): bigint {
  const read = idParam.safeParse({ id: params['id'] });
  if (!read.success) throw new Refusal('not_found');
  return read.data.id;
}

export function openApiText(serverUrl: string, network: Network): string {
  const key = `Its form is ${secretPattern('sk', '<prefix>')}. POST /api/register shows a new one, once; it cannot be replaced.`;
  const about = { title: 'Openaisle city', description: SUMMARY, serverUrl, key, network };
  return JSON.stringify(describeOpenApi({ endpoints: cityEndpoints, texts: CITY_TEXTS, tags: CITY_TAGS, ...about }));
}

/** Builds the document once, because the contract is fixed while a process runs. */
function createOpenApiPage({ baseUrl, network }: City['config']): () => PageAnswer {
  let body: string | null = null;
  return () => {
    body ??= openApiText(baseUrl, network);
    return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body };
  };
}

const MAX_TILES = 100;

async function residentPage(city: City, handle: string): Promise<PageAnswer> {
  const [resident, things] = await inSnapshot(city.database, async (snapshot) => [
    await mustFindResident(snapshot, handle),
    await listThingsOf(snapshot, handle, MAX_TILES),
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

interface HealthSources {
  writes: WriteProbe;
  sweeps(): boolean;
  /** Whether the database lost history, and whether this process would notice. */
  status(): HistoryStatus;
}

/** Answers without checking anything, because an unreachable database is no reason to restart the process. */
function answerHealthz(): PageAnswer {
  return answerJson(200, { status: 'ok', api_version: API_VERSION });
}

/** Reports whether this process can read and write. Ignores waiting payments, and counts a lost history only in a strict request. */
async function answerReadyz(
  { database, isLost }: Pick<City, 'database' | 'isLost'>,
  { writes, sweeps, status: historyStatus }: HealthSources,
  strict = false,
): Promise<PageAnswer> {
  try {
    const complete = await migrationsSuffice(database, MIGRATIONS);
    if (!complete) return answerJson(503, { status: 'not_ready', database: 'reachable', migrations: 'incomplete' });
    const status = { database: 'reachable', migrations: 'complete' };
    const why = await writes.check();
    if (why !== null) return answerJson(503, { status: 'not_ready', ...status, writes: 'refused', why });
    const body = { status: 'ready', ...status, writes: 'accepted', ...historyStatus(), sweeps_offers: sweeps() };
    return answerJson(strict && isLost() ? 503 : 200, body);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    const why = whyUnavailable(error);
    return answerJson(503, { status: 'not_ready', database: 'unreachable', ...(why === null ? {} : { why }) });
  }
}

function answerJson(status: number, body: Readonly<Record<string, unknown>>): PageAnswer {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(body) };
}

async function thingPage(city: City, id: bigint): Promise<PageAnswer> {
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
      html`<tr><td>!${renderResident(owner)}</td><td>!${renderTime(from)}</td><td>!${describeAcquisition(offerId, total - at)}</td></tr>`,
  );
  const showing = total > history.length ? html`<p class="quiet">showing ${history.length} of ${total}</p>` : '';
  return html`<table><thead><tr><th>Owner</th><th>Since</th><th>By</th></tr></thead><tbody>!${rows}</tbody></table>!${showing}`;
}

/** Describes how an owner got the thing. `nth` is 1 for the maker. */
function describeAcquisition(offerId: number | null, nth: number): string {
  if (offerId !== null) return html`sale, !${renderOffer(offerId)}`;
  return nth === 1 ? 'made it' : 'gift';
}

/** Returns an immutable picture, because a thing's id and name never change. */
async function thingPicture({ database }: Pick<City, 'database'>, id: bigint): Promise<PageAnswer> {
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
