import { acceptsGzip } from '../../../platform/http/accept.ts';
import { targetOf } from '../../../platform/http/ask-inside.ts';
import { cacheAnswer, etagOf } from '../../../platform/http/cache-answer.ts';
import { type Incoming, type Outgoing, readOutgoing, textOf } from '../../../platform/http/incoming.ts';
import type { Inside, Mount } from '../../../platform/http/mount.ts';
import type { MemoryAnswer, MemoryRequest, Prepared, ReadFromMemory } from '../../../platform/http/prepared.ts';
import { splitTarget } from '../../../platform/http/request-target.ts';
import type { PageAnswer, PageCall } from '../../../platform/http/server-options.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { unlessRefused } from '../../catalog/serve/memory-read.ts';
import type { ResponseCache } from '../../catalog/serve/response-cache.ts';
import type { Market, Merchant } from '../../context.ts';
import type { EventTail } from '../../events/event-tail.ts';
import { chooseForm } from '../choose-form.ts';
import { frontDoor } from '../front-door.ts';
import { answerRefusal } from './answer-refusal.ts';
import { headOf, headsOf } from './page-headers.ts';
import type { PagePlan, Scene } from './page-plan.ts';
import { planPage, STOREFRONT_PATHS } from './plan-page.ts';
import { AGE_STEP_MS } from './show-facts.ts';
import { writePage } from './write-page.ts';

const OURS = /^\/(?:$|\?|shelves|listing\/|store\/|merchants|feed\.atom|window)/;

export interface Storefront {
  /** Pages whose data is in memory. The mounts answer the others. */
  fromMemory: ReadFromMemory;
  /** The front page for people, or the front door for programs. */
  front(call: Pick<PageCall, 'accept'>): PageAnswer;
  mounts(inside: Inside<Merchant>): Mount[];
}

type Reader = Pick<MemoryRequest, 'acceptsGzip' | 'hasKey' | 'network'>;
const ON_THE_SERVER: Reader = { acceptsGzip: false, hasKey: true, network: () => '' };

/** The pages on which people look at goods: what the routes of programs answer, made readable. A page's version is the ETag of that answer. */
export function createStorefront(
  market: Market,
  { events, cache, readJson }: { events: EventTail; cache: ResponseCache; readJson: ReadFromMemory },
): Storefront {
  const { clock, config } = market;
  const pageOf = (plan: PagePlan, etag: string, gzip: boolean, read: () => string): Prepared => {
    const now = clock.now();
    const scene: Scene = { config, events, nowMs: now - (now % AGE_STEP_MS) };
    const version = [etag, plan.version ?? '', plan.document === undefined ? scene.nowMs : ''].join(' ');
    const write = () => ({ head: headOf(plan), text: writePage(plan, read(), scene) });
    return cache.text(plan.key, version, { acceptsGzip: gzip, write });
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
  const doorOf = (accept: string | undefined, gzip: boolean): Prepared =>
    cache.text(`/ as ${chooseForm(accept)}`, events.version(), {
      acceptsGzip: gzip,
      write: () => {
        const { headers, body } = frontDoor(config, events, { accept });
        return { head: Object.entries({ ...headers, vary: 'accept, accept-encoding' }).flat(), text: String(body) };
      },
    });
  const frontOf = (accept: string | undefined, reader: Reader): Prepared =>
    (chooseForm(accept) === 'html' ? pageFromMemory(mustPlan('/', events), reader) : null) ??
    doorOf(accept, reader.acceptsGzip);

  return {
    fromMemory: (request): MemoryAnswer | null => {
      const { target, accept } = request;
      if (!OURS.test(target)) return null;
      if (target === '/') return { ...frontOf(accept, request), route: '/' };
      const plan = unlessRefused(() => planPage(splitTarget(target), events));
      if (plan === null || plan.route === '/') return null;
      const page = pageFromMemory(plan, request);
      return page && { ...page, route: plan.route };
    },
    front: ({ accept }) => {
      const { head, ...page } = frontOf(accept, ON_THE_SERVER);
      return { status: 200, headers: headsOf(head), ...page };
    },
    mounts: (inside) => {
      const answer = async (incoming: Incoming): Promise<Outgoing> => {
        let plan: PagePlan | undefined;
        try {
          plan = mustPlan(incoming.target.whole, events);
        } catch (error) {
          return await answerRefusal(inside.refuse(error, incoming), incoming);
        }
        const outgoing = await askFor(plan, { database: market.database, inside }, incoming);
        if (outgoing.status !== 200) return await answerRefusal(outgoing, incoming, plan);
        const text = await readOutgoing(outgoing);
        const tag = outgoing.headers['etag'];
        const gzip = acceptsGzip(incoming.headers['accept-encoding']);
        const { head, ...page } = pageOf(plan, typeof tag === 'string' ? tag : etagOf(text), gzip, () => text);
        const whole: Outgoing = { status: 200, headers: headsOf(head), ...page };
        return cacheAnswer(whole, 'public', incoming.headers['if-none-match']);
      };
      return STOREFRONT_PATHS.map((path) => ({ method: 'GET', path, withHead: true, answer }));
    },
  };
}

async function askFor(
  { request }: PagePlan,
  { database, inside }: Pick<Market, 'database'> & { inside: Inside<Merchant> },
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
