import sql from 'sql-template-tag';
import { expect } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { type KillWorld, SELLER } from './kill-world.ts';
import { type Answer, paidUnits } from './market-world.ts';
import { newGoods } from './trade.ts';

/** Steps of a correct client that reach one goal even if the market restarts. `run` selects a variant. */
export type Flow = (scene: KillWorld, run: number) => Promise<KillFlow>;

export interface KillFlow {
  /** Resolves once the client has reached its goal. */
  act(): Promise<void>;
  /** Checks that the goal was reached exactly once. */
  check(): Promise<void>;
}

/** Long, because an outage lasts as long as a restart takes on this machine. */
const PATIENCE_MS = 600_000;
const PAUSE_MS = 100;

/** Repeats a request until its answer is final. A failing market may ask the client to wait, but never to pay again. */
export async function retryUntilDone(
  scene: KillWorld,
  attempt: (last: Answer | null) => Promise<Answer>,
): Promise<Answer> {
  let last: Answer | null = null;
  const until = performance.now() + PATIENCE_MS;
  while (performance.now() < until) {
    const answer = await attempt(last);
    const { status, body } = answer;
    if (status === 200 || status === 201) return answer;
    if (status === 202) await scene.world.finalize();
    else if (status === 503 && String(body['retry']).startsWith('same_')) await systemClock.sleep(PAUSE_MS);
    else throw new Error(`a client that did nothing wrong was answered ${status} ${JSON.stringify(body)}`);
    last = answer;
  }
  throw new Error(`no end after ${PATIENCE_MS} ms: ${JSON.stringify(last?.body)}`);
}

/** Runs `count` copies of a flow at once, so that a kill hits all of them in flight. */
export function runTogether(flow: Flow, count: number): Flow {
  return async (scene, run) => {
    const errands = await Promise.all(Array.from({ length: count }, (_, nth) => flow(scene, run + nth)));
    const all = async (part: (errand: KillFlow) => Promise<void>): Promise<void> =>
      void (await Promise.all(errands.map(part)));
    return { act: () => all(({ act }) => act()), check: () => all(({ check }) => check()) };
  };
}

/** Checks the books of one sale: one transfer, one purchase, one proof, one event. */
export async function checkSale(
  { world }: KillWorld,
  sale: { listingId: bigint; from: Hex; to: Hex; units: bigint },
): Promise<void> {
  const { listingId } = sale;
  const { database } = world.db;
  expect(await paidUnits(world.chain, sale.from, sale.to)).toEqual([sale.units]);
  expect(
    await database.one(sql`select (select count(*) from purchases where listing_id = ${listingId}) as purchases,
      (select count(*) from payments where listing_id = ${listingId}) as payments,
      (select count(*) from payment_proofs f join payments p on p.id = f.payment_id where p.listing_id = ${listingId}
        and f.purpose = 'purchase') as proofs`),
  ).toEqual({ purchases: 1n, payments: 1n, proofs: 1n });
  expect(await eventsAbout(world, 'sale', listingId)).toBe(1);
}

export async function eventsAbout({ db }: KillWorld['world'], kind: string, listingId: bigint): Promise<number> {
  const rows = await db.database.rows<{ canonical: Buffer }>(sql`select canonical from events where kind = ${kind}
    and (convert_from(canonical, 'UTF8')::jsonb -> 'detail' ->> 'listing_id')::bigint = ${listingId}`);
  return rows.length;
}

let registered = 0;

/** Stages and confirms a registration. The confirmation is answered only once; if that answer was lost, using the key shows the outcome. */
export const registerMerchant: Flow = async (scene) => {
  registered += 1;
  const handle = `newcomer-${registered}`;
  const stage = { action: 'stage', handle, model: 'a model', client_class: 'coding_persistent', human_approved: true };
  return {
    act: async () => {
      const { body: staged } = await retryUntilDone(scene, () => scene.ask('POST', '/api/register', { body: stage }));
      const { session, csrf, merchant_key: key } = staged as Record<'session' | 'csrf' | 'merchant_key', string>;
      const answer = await retryUntilDone(scene, async () => {
        const said = await scene.ask('POST', '/api/register', { key, body: { action: 'confirm', session, csrf } });
        return said.body['reason'] === 'stage_closed' ? await scene.ask('GET', '/api/me', { key }) : said;
      });
      if ('merchant' in answer.body) expect(answer.body['merchant']).toMatchObject({ handle });
      expect(await retryUntilDone(scene, () => scene.ask('GET', '/api/me', { key }))).toMatchObject({ status: 200 });
    },
    check: async () => {
      const { database } = scene.world.db;
      const found = await database.one<{ id: bigint }>(sql`select id from merchants where handle = ${handle}`);
      expect(
        await database.one(sql`select (select count(*) from merchant_keys where merchant_id = ${found.id}) as keys,
          (select count(*) from recovery_codes where merchant_id = ${found.id}) as codes,
          (select count(*) from events where kind = 'register' and
            (convert_from(canonical, 'UTF8')::jsonb -> 'detail' ->> 'merchant_id')::bigint = ${found.id}) as events`),
      ).toEqual({ keys: 1n, codes: 8n, events: 1n });
    },
  };
};

export const editListing: Flow = async (scene) => {
  const { id } = await scene.goods();
  const description = `Better words for listing ${id}`;
  return {
    act: async () => {
      const asked = { key: scene.keeper.key, body: { description } };
      const answer = await retryUntilDone(scene, () => scene.ask('PATCH', `/api/listing/${id}`, asked));
      expect(answer.body).toMatchObject({ listing: { description } });
    },
    check: async () => {
      const rows = sql`select description from listings where id = ${id}`;
      expect(await scene.world.db.database.one(rows)).toEqual({ description });
      expect(await eventsAbout(scene.world, 'listing_edit', id)).toBe(1);
    },
  };
};

export const withdrawListing: Flow = async (scene, run) => {
  const { id } = await scene.goods();
  const { key } = scene.keeper;
  const ask = () =>
    run % 2 === 0
      ? scene.ask('DELETE', `/api/listing/${id}`, { key })
      : scene.ask('POST', `/api/listing/${id}/withdraw`, { key, body: { reason: 'enough' } });
  return {
    act: async () => {
      expect((await retryUntilDone(scene, ask)).body).toMatchObject({ listing: { state: 'withdrawn' } });
    },
    check: async () => {
      const rows = sql`select withdrawn_reason from listings where id = ${id} and state = 'withdrawn'`;
      expect(await scene.world.db.database.one(rows)).toEqual({ withdrawn_reason: run % 2 === 0 ? null : 'enough' });
      expect(await eventsAbout(scene.world, 'withdrawal', id)).toBe(1);
    },
  };
};

export const voteForListing: Flow = async (scene) => {
  const { id } = await scene.goods();
  const voters = [await scene.member(), await scene.member()];
  return {
    act: async () => {
      for (const [before, { key }] of voters.entries()) {
        const asked = { key, body: { listing_id: Number(id) } };
        const answer = await retryUntilDone(scene, () => scene.ask('POST', '/api/vote', asked));
        expect(answer.body).toEqual({ listing_id: Number(id), votes: before + 1 });
      }
    },
    check: async () => {
      const { database } = scene.world.db;
      expect(await database.rows(sql`select from votes where listing_id = ${id}`)).toHaveLength(voters.length);
    },
  };
};

/** Lists as the maintainer, who pays no fee. Repeating the same body makes only one listing. */
export const listFree: Flow = async (scene) => {
  const body = newGoods({ seller_wallet: SELLER.address });
  return {
    act: async () => {
      const asked = { key: scene.keeper.key, body };
      const answer = await retryUntilDone(scene, () => scene.ask('POST', '/api/listing', asked));
      expect(answer.body).toMatchObject({ listing: { title: body.title } });
    },
    check: async () => {
      const { database } = scene.world.db;
      const found = await database.one<{ id: bigint }>(sql`select id from listings where title = ${body.title}`);
      expect(await eventsAbout(scene.world, 'maintainer_seed', found.id)).toBe(1);
    },
  };
};
