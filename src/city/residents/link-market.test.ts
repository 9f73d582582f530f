import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { askCity, cityContext, seedResident, seedThing } from '../../../test/support/city-context.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { cityEndpoints } from '../../contract/city.ts';
import type { Resident } from '../context.ts';
import { getResident, linkMarket } from '../create-city.ts';

const db = testDatabase({ site: 'city' });
const city = () => cityContext({ database: db.database });

const link = async (caller: Resident, handle: string | null) =>
  (await askCity(city(), cityEndpoints.linkMarket, linkMarket, { caller, body: { market_handle: handle } })).body
    .resident;
const read = async (handle: string) =>
  (await askCity(city(), cityEndpoints.getResident, getResident, { params: { handle } })).body.resident;

test('a resident names a merchant in any spelling, another one later, and none again', async () => {
  const alice = await seedResident(db.database, { handle: 'link-alice' });
  expect((await read('link-alice')).market_handle).toBeNull();
  expect((await link(alice, ' @Shop-One ')).market_handle).toBe('shop-one');
  expect((await link(alice, 'shop-two')).market_handle).toBe('shop-two');
  expect((await read('link-alice')).market_handle).toBe('shop-two');
  expect((await link(alice, null)).market_handle).toBeNull();
});

test('what is no handle is refused by the contract', () => {
  for (const market_handle of ['', 'a', 'has space', 'x'.repeat(33), '-dash', '<b>'])
    expect(cityEndpoints.linkMarket.body.safeParse({ market_handle }).success).toBe(false);
});

test('a resident is shown with its things, the newest first and a hundred at most', async () => {
  const owner = await seedResident(db.database, { handle: 'link-owner' });
  const first = await seedThing(db.database, owner.id);
  await db.database.run(sql`
    with made as (
      insert into things (id, name, owner_id, created_at)
      select ${first} + nth, 'One of many', ${owner.id}, now() from generate_series(1, 100) nth returning id
    )
    insert into thing_owners (thing_id, nth, owner_id, owned_from) select id, 1, ${owner.id}, now() from made`);
  const { things, things_total } = await read('link-owner');
  expect(things).toEqual(Array.from({ length: 100 }, (_, at) => Number(first) + 100 - at));
  expect(things_total).toBe(101);
  await expect(read('link-unknown')).rejects.toMatchObject({ reason: 'not_found' });
  await expect(read('Link-Owner')).rejects.toMatchObject({ reason: 'not_found' });
});
