import sql from 'sql-template-tag';
import { describe, expect, test } from 'vitest';
import { askCity, cityContext, seedOffer, seedResident, seedThing } from '../../../test/support/city-context.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { holdTransactionOpen, ruleAgainst, untilWaiting } from '../../../test/support/listing-life.ts';
import { type SettableClock, settableClock } from '../../../test/support/market-context.ts';
import { type CityLimits, cityEndpoints } from '../../contract/city.ts';
import type { Resident } from '../context.ts';
import { getThing, giveThing, makeThing } from '../create-city.ts';
import { lockThing } from './store.ts';

const NOON = Date.parse('2030-01-01T12:00:00.000Z');
const db = testDatabase({ site: 'city' });
const clock: SettableClock = settableClock(NOON);
const city = (limits: Partial<CityLimits> = {}) => cityContext({ database: db.database, clock, limits });

let count = 0;
const resident = (): Promise<Resident> => {
  count += 1;
  return seedResident(db.database, { handle: `resident-${count}` });
};
const make = (caller: Resident, name: string, limits?: Partial<CityLimits>) =>
  askCity(city(limits), cityEndpoints.makeThing, makeThing, { caller, body: { name } });
const give = (caller: Resident, id: bigint, to: string) =>
  askCity(city(), cityEndpoints.giveThing, giveThing, { caller, params: { id: String(id) }, body: { to } });
const read = async (id: bigint) =>
  (await askCity(city(), cityEndpoints.getThing, getThing, { params: { id: String(id) } })).body.thing;

describe('making', () => {
  test('a thing is its maker’s, with a number, an address and a picture of its own', async () => {
    const alice = await resident();
    const { status, body } = await make(alice, 'A brass lamp');
    const { id } = body.thing;
    expect(status).toBe(201);
    expect(body.thing).toEqual({
      id,
      name: 'A brass lamp',
      owner: alice.handle,
      locked: false,
      offer_id: null,
      url: `http://127.0.0.1:4022/thing/${id}`,
      picture_url: `http://127.0.0.1:4022/thing/${id}/picture.svg`,
      created_at: '2030-01-01T12:00:00.000Z',
      history: [{ owner: alice.handle, from: '2030-01-01T12:00:00.000Z', offer_id: null }],
      history_total: 1,
    });
    expect(await read(BigInt(id))).toEqual(body.thing);
  });

  test('20 at once are 20 things without a gap in their numbers', async () => {
    const alice = await resident();
    const made = await Promise.all(Array.from({ length: 20 }, () => make(alice, 'The same name')));
    const ids = made.map(({ body }) => body.thing.id).sort((a, b) => a - b);
    expect(ids).toEqual(ids.map((_, at) => (ids[0] ?? 0) + at));
  });

  test('a resident makes so many in a day and no more, and each resident is counted by itself', async () => {
    const [alice, bob] = [await resident(), await resident()];
    for (let nth = 0; nth < 2; nth += 1) await make(alice, 'Enough', { things_per_resident_day: 2 });
    await expect(make(alice, 'Too much', { things_per_resident_day: 2 })).rejects.toMatchObject({
      reason: 'rate_limited',
    });
    await make(bob, 'Another’s', { things_per_resident_day: 2 });
  });
});

describe('giving', () => {
  test('moves the thing for good and writes it down, the newest owner first', async () => {
    const [alice, bob] = [await resident(), await resident()];
    const id = BigInt((await make(alice, 'A gift')).body.thing.id);
    clock.set(NOON + 60_000);
    const { body } = await give(alice, id, ` @${bob.handle.toUpperCase()} `);
    clock.set(NOON);
    expect(body.thing).toMatchObject({
      owner: bob.handle,
      history: [
        { owner: bob.handle, from: '2030-01-01T12:01:00.000Z', offer_id: null },
        { owner: alice.handle, from: '2030-01-01T12:00:00.000Z', offer_id: null },
      ],
      history_total: 2,
    });
    await expect(give(alice, id, alice.handle)).rejects.toMatchObject({ reason: 'not_thing_owner' });
  });

  test('to oneself changes nothing; to no resident, or of no thing, is refused', async () => {
    const alice = await resident();
    const id = await seedThing(db.database, alice.id);
    expect((await give(alice, id, alice.handle)).body.thing.history_total).toBe(1);
    await expect(give(alice, id, 'unknown-resident')).rejects.toMatchObject({ reason: 'not_found' });
    await expect(give(alice, 999_999n, alice.handle)).rejects.toMatchObject({ reason: 'not_found' });
  });

  test('20 gifts of one thing at once to different residents: one of them gets it', async () => {
    const alice = await resident();
    const id = await seedThing(db.database, alice.id);
    const others = await Promise.all(Array.from({ length: 20 }, resident));
    const outcomes = await Promise.allSettled(others.map(({ handle }) => give(alice, id, handle)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ reason: 'not_thing_owner' });
    expect((await read(id)).history_total).toBe(2);
  });

  test('a history of many owners shows the last hundred and says how many there were', async () => {
    const [alice, bob] = [await resident(), await resident()];
    const id = await seedThing(db.database, alice.id);
    await db.database.transaction(async (tx) => {
      await tx.run(sql`
        insert into thing_owners (thing_id, nth, owner_id, owned_from)
        select ${id}, nth, case nth % 2 when 0 then ${bob.id}::int8 else ${alice.id}::int8 end, now() + nth * interval '1 s'
        from generate_series(2, 120) nth`);
      await tx.run(sql`update things set owner_id = ${bob.id} where id = ${id}`);
    });
    const { history, history_total } = await read(id);
    expect(history_total).toBe(120);
    expect(history).toHaveLength(100);
    expect(history.map(({ from }) => from)).toEqual(
      history
        .map(({ from }) => from)
        .toSorted()
        .reverse(),
    );
    expect(history[0]?.owner).toBe(bob.handle);
  });
});

describe('a thing under offer', () => {
  test('says so, and is not given away until the offer has ended', async () => {
    const [alice, bob] = [await resident(), await resident()];
    const id = await seedThing(db.database, alice.id);
    const offerId = await seedOffer(db.database, id);
    expect(await read(id)).toMatchObject({ locked: true, offer_id: Number(offerId), owner: alice.handle });
    await expect(give(alice, id, bob.handle)).rejects.toMatchObject({
      reason: 'thing_locked',
      row: { status: 409 },
      options: { fields: { offer_id: Number(offerId) } },
    });
    await db.database.run(sql`update offers set phase = 'canceled', canceled_at = now() where id = ${offerId}`);
    expect((await give(alice, id, bob.handle)).body.thing).toMatchObject({ locked: false, owner: bob.handle });
  });

  test('a gift waits for an offer that is being opened, and then finds the thing locked', async () => {
    const [alice, bob] = [await resident(), await resident()];
    const id = await seedThing(db.database, alice.id);
    const opening = await holdTransactionOpen(db.database, async (tx) => {
      await lockThing(tx, id);
      await seedOffer(tx, id);
    });
    const gift = give(alice, id, bob.handle).catch((error: unknown) => error);
    await untilWaiting(db.database);
    await opening.commit();
    expect(await gift).toMatchObject({ reason: 'thing_locked' });
    expect((await read(id)).owner).toBe(alice.handle);
  });

  test('the database itself lets no offered thing change hands, and no owner be other than the last of the history', async () => {
    const [alice, bob] = [await resident(), await resident()];
    const [offered, free] = [await seedThing(db.database, alice.id), await seedThing(db.database, alice.id)];
    await seedOffer(db.database, offered);
    const moved = (id: bigint) =>
      db.database.transaction(async (tx) => {
        await tx.run(sql`update things set owner_id = ${bob.id} where id = ${id}`);
        await tx.run(
          sql`insert into thing_owners (thing_id, nth, owner_id, owned_from) values (${id}, 2, ${bob.id}, now())`,
        );
      });
    expect(await ruleAgainst(moved(offered))).toBe('locked_things_stay');
    const rewritten = db.database.run(sql`update things set owner_id = ${bob.id} where id = ${free}`);
    expect(await ruleAgainst(rewritten)).toBe('owner_is_the_last');
    expect(await ruleAgainst(moved(free))).toBe('none');
  });
});
