import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import type { CrashPoint } from '../../src/market/context.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { type MarketProcess, type ProcessWorld, startProcessWorld } from '../support/market-process.ts';
import { type Answer, type AskOptions, BASE_URL, type Member, paidUnits, signProof } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';

const { sellerOne, treasury } = WORLD_ACCOUNTS;
const PRICE = 2_500_000n;
const FEE = 1_000_000n;

// Ample on an idle machine, and meant for one that is not.
vi.setConfig({ testTimeout: 180_000 });

let world: ProcessWorld;
let seller: Member;
let buyer: Member;
let made = 0;

beforeAll(async () => {
  world = await startProcessWorld();
  await world.join('the-keeper');
  seller = await world.join('seller-one');
  buyer = await world.join('buyer-one');
});
afterAll(() => world?.stop());

/** Where the proof had not gone to the facilitator for settlement, only the client can bring it again. */
const POINTS: readonly { point: CrashPoint; clientRetries: boolean; finalFirst: boolean }[] = [
  { point: 'before_verify', clientRetries: true, finalFirst: false },
  { point: 'after_settling_committed', clientRetries: true, finalFirst: false },
  { point: 'after_settle_before_answer', clientRetries: false, finalFirst: false },
  { point: 'after_final_before_delivery', clientRetries: false, finalFirst: true },
  { point: 'after_commit_before_answer', clientRetries: false, finalFirst: true },
];

/** Sends requests until the process dies under one of them; each answer that does come asks for patience, not for money. */
async function askUntilKilled(
  market: MarketProcess,
  path: string,
  asked: AskOptions,
  finalFirst: boolean,
): Promise<void> {
  for (let round = 0; round < 20; round += 1) {
    const answer: Answer | null = await market.ask('POST', path, asked).catch(() => null);
    if (answer === null) break;
    expect(answer.body['do_not_pay_again']).toBe(true);
    expect([202, 503]).toContain(answer.status);
    // Once: blocks that are mined at once are a second apart, and many of them lead the chain ahead of the market's clock.
    if (finalFirst && round === 0) await world.finalize();
    else await systemClock.sleep(1_000 * Number(answer.body['retry_after_seconds'] ?? 1));
  }
  expect(await market.ended).toBe('SIGKILL');
}

/** After the restart: with the same proof where it never got away, else without any, until the answer is there. */
async function finish(path: string, asked: AskOptions, clientRetries: boolean): Promise<Answer> {
  const market = await world.startMarket();
  try {
    const { proof, ...withoutProof } = asked;
    if (clientRetries) {
      const retried = await market.ask('POST', path, { ...withoutProof, ...(proof ? { proof } : {}) });
      expect([202, 200, 201]).toContain(retried.status);
    }
    await world.finalize();
    let last: Answer | null = null;
    await expect
      .poll(
        async () => {
          last = await market.ask('POST', path, withoutProof);
          return last.status;
        },
        { timeout: 20_000, interval: 100 },
      )
      .toBeLessThan(202);
    if (last === null) throw new Error('no answer');
    return last;
  } finally {
    await market.stop();
  }
}

async function fundedPayer(units: bigint) {
  made += 1;
  const payer = testAccount(`crash payer ${made}`);
  await fund(world.chain, [{ address: payer.address, usdcUnits: units }]);
  return payer;
}

describe('kill -9 of the market during a purchase', () => {
  it.each(POINTS)(
    '$point: one transfer, one purchase, the goods arrive',
    async ({ point, clientRetries, finalFirst }) => {
      const payer = await fundedPayer(3n * PRICE);
      const artifact = `crash goods ${made}`;
      const listing = await seedListing(world.db.database, seller.id, {
        wallet: sellerOne.address,
        priceUnits: PRICE,
        artifact,
      });
      const path = `/api/buy/${listing.id}`;
      const terms = { payTo: sellerOne.address, units: PRICE, resource: `${BASE_URL}${path}` };
      const proof = await signProof(world.chain, payer, terms);
      const asked = { key: buyer.key, proof: proof.v2 };
      await askUntilKilled(await world.startMarket(point), path, asked, finalFirst);
      const answer = await finish(path, asked, clientRetries);
      expect(answer.body['artifact']).toBe(artifact);
      expect(await paidUnits(world.chain, payer.address, sellerOne.address)).toEqual([PRICE]);
      const sales = await world.db.database.rows(sql`select id from purchases where listing_id = ${listing.id}`);
      expect(sales).toHaveLength(1);
      const events = await world.db.database.rows<{ canonical: Buffer }>(
        sql`select canonical from events where kind = 'sale'`,
      );
      const told = events.filter(
        ({ canonical }) => JSON.parse(canonical.toString()).detail.listing_id === Number(listing.id),
      );
      expect(told).toHaveLength(1);
    },
  );
});

describe('kill -9 of the market during a listing fee', () => {
  it.each(POINTS)('$point: one transfer, one fee, one listing', async ({ point, clientRetries, finalFirst }) => {
    const payer = await fundedPayer(3n * FEE);
    const body = {
      title: `Crash proof goods ${made}`,
      description: 'Goods that outlive their market',
      preview: '',
      artifact: `hidden ${made}`,
      price_usdc: 1.5,
      seller_wallet: sellerOne.address,
    };
    const terms = { payTo: treasury.address, units: FEE, resource: `${BASE_URL}/api/listing` };
    const proof = await signProof(world.chain, payer, terms);
    const asked = { key: seller.key, proof: proof.v2, body };
    await askUntilKilled(await world.startMarket(point), '/api/listing', asked, finalFirst);
    const answer = await finish('/api/listing', asked, clientRetries);
    expect(answer.body).toMatchObject({ listing: { title: body.title }, fee: { amount_usdc: 1 } });
    expect(await paidUnits(world.chain, payer.address, treasury.address)).toEqual([FEE]);
    const listings = await world.db.database.rows(sql`select id from listings where title = ${body.title}`);
    expect(listings).toHaveLength(1);
    const credits = await world.db.database.rows(
      sql`select f.id from fees f where not exists (select from listings l where l.fee_id = f.id)`,
    );
    expect(credits).toEqual([]);
  });
});
