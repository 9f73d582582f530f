import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { createTestDatabase } from '../support/database.ts';
import { BASE_URL, signProof, startWorld, type World } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';

const { buyerOne, sellerOne } = WORLD_ACCOUNTS;
const PRICE = 2_500_000n;
/** Shortens a follower's minute between attempts to less than a second. */
const quick: Clock = { now: systemClock.now, sleep: (ms, signal) => systemClock.sleep(ms / 100, signal) };

const thawed = Promise.withResolvers<void>();
const ends: (() => Promise<void>)[] = [];
let world: World;

beforeAll(async () => {
  const db = await createTestDatabase();
  ends.push(() => db.drop());
  // This pool represents a dead process whose session still holds the lock.
  const frozen = await openDatabase({ url: db.url, poolSize: 1, allowUnsafe: true });
  ends.push(() => frozen.close());
  const taken = Promise.withResolvers<void>();
  const held = frozen.withAdvisoryLock('duty:reconcile', async () => {
    taken.resolve();
    await thawed.promise;
  });
  await taken.promise;
  ends.push(async () => {
    thawed.resolve();
    await held;
  });
  world = await startWorld({ db, clock: quick });
  ends.push(() => world.stop());
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

it('a payment ends though the leader is frozen and its buyer never asks again', async () => {
  const seller = await world.join('seller-one');
  const { id } = await seedListing(world.db.database, seller.id, { wallet: sellerOne.address, priceUnits: PRICE });
  const terms = { payTo: sellerOne.address, units: PRICE, resource: `${BASE_URL}/api/buy/${id}` };
  const proof = await signProof(world.chain, buyerOne, terms);
  expect((await world.buy(id, { proof: proof.v2 })).status).toBe(202);
  await world.finalize();
  const status = async () => {
    const [row] = await world.db.database.rows<{ status: string }>(sql`select status from payments`);
    return row?.status;
  };
  await expect.poll(status, { timeout: 20_000, interval: 50 }).toBe('completed');
  expect(world.logLines.filter(({ event }) => event === 'background_failed')).toEqual([]);
});
