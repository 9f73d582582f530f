import { AISLES, MAINTAINER_MERCHANT_ID } from '../../../contract/vocabulary.ts';
import { cacheAnswer, etagOf } from '../../../platform/http/cache-answer.ts';
import { acceptsGzip } from '../../../platform/http/caller-headers.ts';
import { targetOf } from '../../../platform/http/internal-requests.ts';
import {
  decodeComponent,
  type Incoming,
  type Outgoing,
  readOutgoing,
  readQuery,
  splitTarget,
  type Target,
  textOf,
} from '../../../platform/http/message.ts';
import type { MemoryAnswer, MemoryRequest, Prepared, ReadFromMemory } from '../../../platform/http/operation.ts';
import type { ExtraRoute, InternalRequests, PageAnswer, PageCall } from '../../../platform/http/server-options.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { nullIfRefused } from '../../catalog/answers.ts';
import type { MarketCatalog } from '../../catalog/market-catalog.ts';
import type { Market, Merchant } from '../../context.ts';
import type { EventTail } from '../../events/read-events.ts';
import { chooseForm, HTML_HEADERS } from '../answer-document.ts';
import { DISCOVERY_LINKS } from '../documents/discovery.ts';
import { planEvents } from '../live/events-page.ts';
import { planModeration } from '../live/moderation-page.ts';
import { planWindow } from '../live/window-page.ts';
import { answerRefusal } from '../refusals.ts';
import { READING_POLICY } from '../shell/render-shell.ts';
import { frontAnswer, planFront } from './front-page.ts';
import { planListing } from './listing-page.ts';
import { type PagePlan, type Scene, writePage } from './page-plan.ts';
import { readShelfAddress } from './render-search.ts';
import { AGE_STEP_MS } from './render-text.ts';
import { planFeed, planShelves } from './shelves-page.ts';
import { planMerchants, planStore } from './store-page.ts';

/** Route patterns of the storefront, without the front page, which programs read as well. */
export const STOREFRONT_PATHS = [
  '/shelves',
  '/shelves/:aisle',
  '/listing/:id',
  '/store/:handle',
  '/merchants',
  '/feed.atom',
  '/window',
  '/events',
  '/moderation',
] as const;

/** Plans the page at a path. Null if no page has this path. Refuses names that cannot exist. */
function planPage({ path, query }: Pick<Target, 'path' | 'query'>, events: EventTail): PagePlan | null {
  const [, section = '', name, ...more] = path.split('/');
  if (more.length > 0) return null;
  if (name === undefined) return planSection(section, query, events);
  if (name === '') return null;
  if (section === 'shelves') return planAisle(name, query);
  if (section === 'listing') return planListing(name, readQuery(query)['comments_after_id'] ?? '');
  if (section !== 'store') return null;
  const handle = decodeComponent(name);
  if (handle === null) throw new Refusal('not_found', { detail: 'No store has that name.' });
  return planStore(handle, readQuery(query)['before_id'] ?? '');
}

function planSection(section: string, query: string, events: EventTail): PagePlan | null {
  switch (section) {
    case '':
      return planFront(events);
    case 'shelves':
      return planShelves(readShelfAddress(null, readQuery(query)), '/shelves');
    case 'merchants':
      return planMerchants(readQuery(query)['after_id'] ?? '');
    case 'feed.atom':
      return planFeed();
    case 'window':
      return planWindow();
    case 'events':
      return planEvents(readQuery(query));
    case 'moderation':
      return planModeration(readQuery(query));
    default:
      return null;
  }
}

function planAisle(name: string, query: string): PagePlan {
  const aisle = AISLES.find((one) => one === name);
  if (aisle === undefined) throw new Refusal('not_found', { detail: 'There is no aisle of that name.' });
  return planShelves(readShelfAddress(aisle, readQuery(query)), '/shelves/:aisle');
}

const STOREFRONT_TARGET = /^\/(?:$|\?|shelves|listing\/|store\/|merchants|feed\.atom|window)/;

export interface Storefront {
  /** Answers pages whose data is in memory. Mounts answer all other pages. */
  fromMemory: ReadFromMemory;
  /** Answers with the front page: HTML for people, text or JSON for programs. */
  front(call: Pick<PageCall, 'accept'>): PageAnswer;
  mounts(inside: InternalRequests<Merchant>): ExtraRoute[];
}

/** Reads the handle each time, because the maintainer may register while the market runs. */
function maintainerIn(catalog: MarketCatalog): string | null {
  return catalog.model().merchants[MAINTAINER_MERCHANT_ID]?.handle ?? null;
}

type Reader = Pick<MemoryRequest, 'acceptsGzip' | 'hasKey' | 'network'>;
const INTERNAL_READER: Reader = { acceptsGzip: false, hasKey: true, network: () => '' };

/** Creates the storefront's pages from the routes' JSON answers. A page's version contains the ETag of its answer. */
export function createStorefront(
  market: Market,
  { events, catalog, readJson }: { events: EventTail; catalog: MarketCatalog; readJson: ReadFromMemory },
): Storefront {
  const { clock, config } = market;
  const pageOf = (plan: PagePlan, etag: string, gzip: boolean, read: () => string): Prepared => {
    const now = clock.now();
    const scene: Scene = { config, events, maintainer: maintainerIn(catalog), nowMs: now - (now % AGE_STEP_MS) };
    const version = [etag, plan.version, plan.document === undefined ? scene.nowMs : '', scene.maintainer].join(' ');
    const write = () => ({ head: headOf(plan), text: writePage(plan, read(), scene) });
    return catalog.answers.cache.text(plan.key, version, { acceptsGzip: gzip, write });
  };
  const pageFromMemory = (plan: PagePlan, reader: Reader): Prepared | null => {
    if (typeof plan.request === 'function') return null;
    const target = targetOf(plan.request).whole;
    const answer = readJson({ ...reader, target, accept: 'application/json', acceptsGzip: false });
    if (answer === null) return null;
    try {
      return pageOf(plan, answer.etag, reader.acceptsGzip, () => textOf(answer.body));
    } finally {
      answer.release?.();
    }
  };
  const frontTextOf = (accept: string | undefined, gzip: boolean): Prepared =>
    catalog.answers.cache.text(`/ as ${chooseForm(accept)}`, events.version(), {
      acceptsGzip: gzip,
      write: () => {
        const { headers, body } = frontAnswer(config, events, { accept });
        return { head: Object.entries({ ...headers, vary: 'accept, accept-encoding' }).flat(), text: String(body) };
      },
    });
  const frontOf = (accept: string | undefined, reader: Reader): Prepared =>
    (chooseForm(accept) === 'html' ? pageFromMemory(mustPlan('/', events), reader) : null) ??
    frontTextOf(accept, reader.acceptsGzip);

  return {
    fromMemory: (request): MemoryAnswer | null => {
      const { target, accept } = request;
      if (!STOREFRONT_TARGET.test(target)) return null;
      if (target === '/') return { ...frontOf(accept, request), route: '/' };
      const plan = nullIfRefused(() => planPage(splitTarget(target), events));
      if (plan === null || plan.route === '/') return null;
      const page = pageFromMemory(plan, request);
      return page && { ...page, route: plan.route };
    },
    front: ({ accept }) => {
      const { head, ...page } = frontOf(accept, INTERNAL_READER);
      return { status: 200, headers: headersOf(head), ...page };
    },
    mounts: (inside) => {
      const answer = async (incoming: Incoming): Promise<Outgoing> => {
        let plan: PagePlan | undefined;
        try {
          plan = mustPlan(incoming.target.whole, events);
        } catch (error) {
          return answerRefusal(inside.refuse(error, incoming), incoming);
        }
        const outgoing = await requestData(plan, { database: market.database, inside }, incoming);
        if (outgoing.status !== 200) return answerRefusal(outgoing, incoming, plan);
        const text = await readOutgoing(outgoing);
        const tag = outgoing.headers['etag'];
        const gzip = acceptsGzip(incoming.headers['accept-encoding']);
        const { head, ...page } = pageOf(plan, typeof tag === 'string' ? tag : etagOf(text), gzip, () => text);
        const whole: Outgoing = { status: 200, headers: headersOf(head), ...page };
        return cacheAnswer(whole, 'public', incoming.headers['if-none-match']);
      };
      return STOREFRONT_PATHS.map((path) => ({ method: 'GET', path, withHead: true, answer }));
    },
  };
}

async function requestData(
  { request }: PagePlan,
  { database, inside }: Pick<Market, 'database'> & { inside: InternalRequests<Merchant> },
  incoming: Incoming,
): Promise<Outgoing> {
  if (typeof request !== 'function') {
    return await inside.ask({ ...request, headers: { accept: 'application/json' } }, incoming);
  }
  try {
    return { status: 200, headers: {}, body: JSON.stringify(await request(database)) };
  } catch (error) {
    return inside.refuse(error, incoming);
  }
}

function mustPlan(target: string, events: EventTail): PagePlan {
  const plan = planPage(splitTarget(target), events);
  if (plan === null) throw new Refusal('not_found');
  return plan;
}

const VARY = { vary: 'accept, accept-encoding' };
const HTML: Readonly<Record<string, string>> = { ...HTML_HEADERS, ...VARY };

const HEADS = new Map<string, readonly string[]>();

/** Returns a page's headers as alternating names and values, built once for each route. */
function headOf({ route, document, connects }: Pick<PagePlan, 'route' | 'document' | 'connects'>): readonly string[] {
  const cached = HEADS.get(route);
  if (cached !== undefined) return cached;
  const policy = connects === true ? { 'content-security-policy': READING_POLICY } : {};
  // Programs that do not know this host request the front page first.
  const links = route === '/' ? { link: DISCOVERY_LINKS } : {};
  const headers =
    document === undefined ? { ...HTML, ...policy, ...links } : { 'content-type': document.type, ...VARY };
  const head = Object.entries(headers).flat();
  HEADS.set(route, head);
  return head;
}

/** Converts alternating names and values into an object. */
function headersOf(head: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let at = 0; at + 1 < head.length; at += 2) headers[head[at] ?? ''] = head[at + 1] ?? '';
  return headers;
}
