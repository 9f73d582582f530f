import sql from 'sql-template-tag';
import { expect } from 'vitest';
import { eventsAbout, type Flow, retryUntilDone } from './kill-flow.ts';
import { SELLER } from './kill-world.ts';
import { newGoods } from './list-goods.ts';

let registered = 0;

/** Stages, and confirms: an answer that was lost is not given twice, and then the key itself shows what became of it. */
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

/** The maintainer lists without a fee: the same body makes one listing, however often it is sent. */
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
