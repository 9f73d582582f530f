import { setTimeout } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { createSweep } from '../../src/city/offers/sweep.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { reasonOf } from '../support/ask.ts';
import { citySale, type OpenedOffer, PRICE } from './city-sale.ts';

const sale = citySale({ finalityBlocks: 4 });

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const countOf = (reasons: readonly string[], reason: string): number => reasons.filter((one) => one === reason).length;
const historyOf = ({ thingId }: OpenedOffer) =>
  sale.db.database.rows<{ nth: number; owner_id: bigint; offer_id: bigint | null }>(
    sql`select nth, owner_id, offer_id from thing_owners where thing_id = ${thingId} order by nth`,
  );
const reservationsOf = ({ id }: OpenedOffer) =>
  sale.db.database.rows(sql`select id from reservations where offer_id = ${id}`);

it('of twenty who reserve at once one has it, and nineteen are told before they pay', async () => {
  const offer = await sale.offer();
  const buyers = await Promise.all(times(20, () => sale.person()));
  const reasons = await Promise.all(buyers.map((buyer) => reasonOf(sale.reserve(offer, buyer))));
  expect([countOf(reasons, 'none'), countOf(reasons, 'offer_reserved')]).toEqual([1, 19]);
  expect(await reservationsOf(offer)).toHaveLength(1);
  expect((await sale.read(offer)).buyer).toBe(buyers[reasons.indexOf('none')]?.handle);
});

it('the same reservation ten times at once, or one a moment after the other, is one', async () => {
  for (const apartMs of times(12, (at) => at / 2)) {
    const [offer, buyer] = [await sale.offer(), await sale.person()];
    const checkout = sale.checkout(offer, buyer);
    const made = await Promise.all(
      times(10, async (at) => {
        await setTimeout(at * apartMs);
        return await sale.reserve(offer, buyer, { checkout });
      }),
    );
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    expect(await reservationsOf(offer)).toHaveLength(1);
  }
});

it('when a reservation is over ten ask at once: one has it', async () => {
  const [offer, first] = [await sale.offer(), await sale.person()];
  const reservation = await sale.reserve(offer, first);
  const buyers = await Promise.all(times(10, () => sale.person()));
  await sale.mineAt(Date.parse(reservation.reserved_until) / 1_000);
  const reasons = await Promise.all(buyers.map((buyer) => reasonOf(sale.reserve(offer, buyer))));
  expect([countOf(reasons, 'none'), countOf(reasons, 'offer_reserved')]).toEqual([1, 9]);
  expect(await reservationsOf(offer)).toHaveLength(2);
});

it('of a buyer and a seller who cancels at once one gets his way', async () => {
  for (const _ of times(8, () => null)) {
    const [offer, buyer] = [await sale.offer(), await sale.person()];
    const [reserved, canceled] = await Promise.all([
      reasonOf(sale.reserve(offer, buyer)),
      reasonOf(sale.cancel(offer, offer.seller)),
    ]);
    const phase = await sale.phase(offer);
    expect([reserved, canceled, phase]).toEqual(
      phase === 'canceled' ? ['offer_closed', 'none', 'canceled'] : ['none', 'offer_busy', 'reserved'],
    );
  }
});

it('claimed ten times at once, while others look, it is sold once', async () => {
  const [offer, buyer] = [await sale.offer(), await sale.person()];
  const { challenge } = await sale.reserve(offer, buyer);
  const txHash = await sale.pay({ from: buyer.wallet, to: offer.seller.wallet.address });
  await sale.finalize();
  const sweeps = times(3, () => createSweep(sale.city, 1_000));
  const [answers] = await Promise.all([
    Promise.all(times(10, () => sale.claim(offer, buyer, txHash, challenge))),
    Promise.all(sweeps.map((sweep) => sweep.sweepOnce())),
    Promise.all(times(5, () => sale.reconcile(offer, offer.seller))),
  ]);
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
  expect(await historyOf(offer)).toEqual([
    { nth: 1, owner_id: offer.seller.id, offer_id: null },
    { nth: 2, owner_id: buyer.id, offer_id: offer.id },
  ]);
});

it('the leader moves everything on; another process goes on where it stops', async () => {
  const held = await Promise.all(
    times(4, async () => {
      const [offer, buyer] = [await sale.offer(), await sale.person()];
      return { offer, buyer, reservation: await sale.reserve(offer, buyer) };
    }),
  );
  const [paid, little, unclaimed, unpaid] = held;
  if (!paid || !little || !unclaimed || !unpaid) throw new Error('four are held');
  const pay = ({ offer, buyer }: typeof paid, units = PRICE): Promise<Hex> =>
    sale.pay({ from: buyer.wallet, to: offer.seller.wallet.address, units });
  for (const [one, units] of [
    [paid, PRICE],
    [little, 1n],
  ] as const) {
    await sale.claim(one.offer, one.buyer, await pay(one, units), one.reservation.challenge);
  }
  await pay(unclaimed);
  const phases = () => Promise.all(held.map(({ offer }) => sale.phase(offer)));
  expect(await phases()).toEqual(['payment_pending', 'payment_pending', 'reserved', 'reserved']);

  const [one, two] = [createSweep(sale.city, 20), createSweep(sale.city, 20)];
  one.start();
  await expect.poll(() => one.isLeader()).toBe(true);
  two.start();
  await sale.finalize();
  await expect.poll(phases).toEqual(['claimed', 'payment_invalid', 'reserved', 'reserved']);
  expect(two.isLeader()).toBe(false);
  await one.stop();
  await expect.poll(() => two.isLeader()).toBe(true);
  await sale.mineAt((await sale.time()) + 301);
  await expect.poll(phases).toEqual(['claimed', 'payment_invalid', 'payment_pending', 'listed']);
  await two.stop();
});

it('what ails one offer does not stop the others', async () => {
  const [broken, fine] = [await sale.offer(), await sale.offer()];
  await sale.reserve(broken, await sale.person());
  await sale.reserve(fine, await sale.person());
  await sale.mineAt((await sale.time()) + 301);
  const { database } = sale.db;
  await database.run(sql`
    create function offers_ail() returns trigger language plpgsql as $$
    begin
      if new.id = (select min(id) from offers where phase = 'reserved') then raise exception 'it ails'; end if;
      return new;
    end $$`);
  await database.run(sql`create trigger offers_ail before update on offers for each row execute function offers_ail()`);
  await createSweep(sale.city, 1_000).sweepOnce();
  expect([await sale.phase(broken), await sale.phase(fine)]).toEqual(['reserved', 'listed']);
  expect(sale.logLines.map(({ event }) => event)).toContain('offer_sweep_failed');
  await database.run(sql`drop trigger offers_ail on offers`);
  await createSweep(sale.city, 1_000).sweepOnce();
  expect(await sale.phase(broken)).toBe('listed');
});
