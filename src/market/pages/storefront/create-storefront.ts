import { cacheAnswer } from '../../../platform/http/cache-answer.ts';
import { etagOf, matchesEtag } from '../../../platform/http/etag.ts';
import type { Incoming, Outgoing } from '../../../platform/http/incoming.ts';
import type { Inside, Mount } from '../../../platform/http/mount.ts';
import type { QuickAnswer, QuickRead, Shortcut } from '../../../platform/http/prepared.ts';
import { readOutgoing, textOf } from '../../../platform/http/read-outgoing.ts';
import { splitTarget } from '../../../platform/http/request-target.ts';
import type { PageAnswer } from '../../../platform/http/server-options.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market, Merchant } from '../../context.ts';
import type { EventTail } from '../../events/event-tail.ts';
import { chooseForm } from '../choose-form.ts';
import { answerRefusal } from './answer-refusal.ts';
import { createKeptPages, type KeptPage } from './kept-pages.ts';
import { headersOf, headOf } from './page-headers.ts';
import type { PagePlan, Scene } from './page-plan.ts';
import { planPage, STOREFRONT_PATHS } from './plan-page.ts';
import { AGE_STEP_MS } from './show-facts.ts';
import { writePage } from './write-page.ts';

/** Some three thousand pages, or eight thousand that are packed. */
const KEPT_MEGABYTES = 32;
const OURS = /^\/(?:$|\?|shelves|listing\/|store\/|merchants|feed\.atom|window)/;

export interface Storefront {
  /** Pages whose data lies ready in memory. What else there may be goes the long way. */
  quick: Shortcut;
  /** The front page for browsers, if what it shows lies ready; null: it is told as the front door is to programs. */
  home(accept: string | undefined): PageAnswer | null;
  mounts(inside: Inside<Merchant>): Mount[];
}

/** The pages on which people look at goods: what the routes of programs answer, made readable. Kept by the ETag of that answer. */
export function createStorefront(
  market: Market,
  { events, reads }: { events: EventTail; reads: Shortcut },
): Storefront {
  const { clock, config } = market;
  const kept = createKeptPages(KEPT_MEGABYTES);
  const scene = (): Scene => {
    const now = clock.now();
    return { config, events, nowMs: now - (now % AGE_STEP_MS) };
  };
  const give = (plan: PagePlan, etag: string, isPacked: boolean, read: () => string): KeptPage => {
    const at = scene();
    const name = `${plan.key}\n${etag}\n${plan.document === undefined ? at.nowMs : ''}`;
    return kept.give(name, isPacked, () => writePage(plan, read(), at));
  };
  const glance = (plan: PagePlan, isPacked: boolean): KeptPage | null => {
    if (plan.glance === null) return null;
    const answer = reads({
      ...{ target: plan.glance, accept: 'application/json' },
      ...{ ifNoneMatch: undefined, acceptsGzip: false },
    });
    if (answer === null || answer.status !== 200) return null;
    try {
      const read = (): string => textOf('body' in answer ? answer.body : Buffer.concat(answer.pieces));
      return give(plan, answer.etag, isPacked, read);
    } finally {
      answer.release?.();
    }
  };
  return {
    quick: (read) => {
      if (!OURS.test(read.target)) return null;
      const plan = planQuickly(read, events);
      const page = plan && glance(plan, read.acceptsGzip);
      return page && quickAnswer(plan, page, read);
    },
    home: (accept) => {
      if (chooseForm(accept) !== 'html') return null;
      const plan = mustPlan('/', events);
      const page = glance(plan, false);
      return page && { status: 200, headers: headersOf(plan), ...page };
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
        const page = give(plan, typeof tag === 'string' ? tag : etagOf(text), false, () => text);
        return cacheAnswer(
          { status: 200, headers: headersOf(plan), ...page },
          ...(['public', incoming.headers['if-none-match']] as const),
        );
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

/** What a refusal is due for is left to the long way, which says so. */
function planQuickly({ target, accept }: QuickRead, events: EventTail): PagePlan | null {
  const split = splitTarget(target);
  if (split.path === '/' && chooseForm(accept) !== 'html') return null;
  try {
    return planPage(split, events);
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

function mustPlan(target: string, events: EventTail): PagePlan {
  const plan = planPage(splitTarget(target), events);
  if (plan === null) throw new Refusal('not_found');
  return plan;
}

function quickAnswer(plan: PagePlan, { etag, body, release }: KeptPage, read: QuickRead): QuickAnswer {
  const { route } = plan;
  if (matchesEtag(read.ifNoneMatch, etag)) {
    release();
    return { status: 304, etag, head: [], route };
  }
  return { status: 200, etag, head: headOf(plan, read.acceptsGzip), body, release, route };
}
