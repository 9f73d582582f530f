import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { toBytes } from '../../src/platform/hex.ts';
import { paidUnits, signProof } from '../support/market-world.ts';
import { PRICE, testTrade } from '../support/trade.ts';

const { world, goods, wallet } = testTrade();

/** Stops requests for that listing from opening a payment, after all their chain reads are done. */
async function holdOpening(listingId: bigint): Promise<{ held(): Promise<number>; release(): Promise<void> }> {
  const { database } = world.db;
  const [locked, freed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = database.transaction(async (tx) => {
    await tx.run(sql`select from listings where id = ${listingId} for update`);
    locked.resolve();
    await freed.promise;
  });
  await locked.promise;
  return {
    held: async () => {
      const { count } = await database.one<{ count: bigint }>(
        sql`select count(*) as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return Number(count);
    },
    release: async () => {
      freed.resolve();
      await holding;
    },
  };
}

it('an authorization shown for two goods at once belongs to those whose payment was opened, and to no others', async () => {
  const [one, other, payer] = [await goods(), await goods(), await wallet()];
  // Omit the resource, so the proof does not say for which of the two goods it is meant.
  const { resource: _, ...terms } = one.terms;
  const proof = await signProof(world.chain, payer, terms);
  const { held, release } = await holdOpening(one.id);
  const late = world.buy(one.id, { proof: proof.v1 });
  await expect.poll(held).toBe(1);
  expect((await world.buy(other.id, { proof: proof.v1 })).status).toBe(202);
  await release();
  const refused = await late;
  expect([refused.status, refused.body['reason'], refused.body['do_not_pay_again']]).toEqual([
    409,
    'payment_bound_elsewhere',
    true,
  ]);
  const rows = await world.db.database.rows<{ listing_id: bigint }>(
    sql`select listing_id from payments where payer = ${toBytes(payer.address)}`,
  );
  expect(rows).toEqual([{ listing_id: other.id }]);
  expect(await paidUnits(world.chain, payer.address, terms.payTo)).toEqual([PRICE]);
});
