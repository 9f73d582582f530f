import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { testTrade } from '../support/trade.ts';

const { world, buyer, goods } = testTrade();

it('where the event of a sale cannot be written nothing is sold; afterwards both come together', async () => {
  const { database } = world.db;
  const { id, artifact } = await goods({ units: 0n });
  const bought = () => database.rows(sql`select id from purchases where listing_id = ${id}`);
  const told = () =>
    database.rows(sql`select queue_id from events where kind = 'sale'
      and (convert_from(canonical, 'UTF8')::jsonb->'detail'->>'listing_id')::bigint = ${id}`);
  await database.run(sql`alter table events add constraint nothing_is_told check (kind <> 'sale') not valid`);
  const failed = await world.buy(id, { key: buyer.key });
  await database.run(sql`alter table events drop constraint nothing_is_told`);
  expect(failed.status).toBe(500);
  expect([await bought(), await told()]).toEqual([[], []]);
  expect(await world.buy(id, { key: buyer.key })).toMatchObject({ status: 200, body: { artifact } });
  expect([(await bought()).length, (await told()).length]).toEqual([1, 1]);
});
