import sql from 'sql-template-tag';
import { afterEach, expect, it, vi } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { usdcAdmin } from '../support/chain.ts';
import { latestNumber, signProof } from '../support/market-world.ts';
import { beyondRefusals, SELLER, type Shopper, walletStage } from './wallet-stage.ts';

// A market lost part of its books and recovered. The page explains this, and no buyer pays twice without being asked.

const { world, goods, shopper, facilitator, forward } = await walletStage();

let people: Shopper[] = [];
afterEach(async () => {
  for (const { visitor } of people) await visitor.close();
  people = [];
});
async function visit(): Promise<Shopper> {
  const person = await shopper();
  people.push(person);
  return person;
}

const readyz = async (): Promise<Record<string, unknown>> => (await world.ask('GET', '/readyz')).body;

async function lose(): Promise<void> {
  await world.db.database.run(sql`
    insert into history_losses (copied_id, copied_hash, found_id, host, noticed_at)
    values (1, ${Buffer.alloc(32, 1)}, 0, gen_random_uuid(), now())`);
  await vi.waitUntil(async () => (await readyz())['history'] === 'lost', { timeout: 10_000, interval: 50 });
}

/** Recovers with a window that covers all blocks so far. */
async function recover(): Promise<void> {
  const toBlock = await latestNumber(world.chain);
  const { market } = world.running;
  await world.db.database.transaction(async (tx) => {
    const { id } = await tx.one<{ id: bigint }>(sql`
      insert into recoveries (chain_id, from_block, to_block, reason, kept_event_id, event_id, found, at)
      values (${market.config.network.chainId}, 0, ${toBlock}, 'a test', 0, 1, '{}', now()) returning id`);
    await tx.run(sql`update history_losses set recovered_by = ${id} where recovered_by is null`);
  });
  await vi.waitUntil(() => market.hasRecentRecovery(), { timeout: 10_000, interval: 50 });
}

/** Pays as if the payment had been opened here and its books then lost. */
async function payUnbooked(person: Shopper, units: bigint): Promise<string> {
  const { authorization, signature } = await signProof(world.chain, person.payer, { payTo: SELLER, units });
  const paid = await usdcAdmin(world.chain).settleAuthorization(WORLD_ACCOUNTS.stranger, authorization, signature);
  return paid.transactionHash;
}

it('while the books are lost the page says so, keeps what was signed, and goes on with it when they are back', async () => {
  const listed = await goods();
  const person = await visit();
  const { page } = person;
  facilitator.script({ verify: 'valid', settle: 'garbage' });
  await person.toMessage(listed);
  await page.click('#sign');
  await page.locator('.money', { hasText: 'You have signed.' }).waitFor();
  await lose();
  await page.locator('#stage-title', { hasText: 'The market has lost some of its books' }).waitFor();
  expect(await person.readPage()).toContain('Do not pay again.');
  expect(await person.visitor.findings()).toEqual([]);
  await person.visitor.shoot('wallet-books-lost');
  // A returning visitor sees the same.
  await page.reload();
  await page.locator('#stage-title', { hasText: 'The market has lost some of its books' }).waitFor();
  await recover();
  forward();
  await page.evaluate(`dispatchEvent(new Event('online'))`);
  await page.locator('.money.paid').waitFor();
  await world.finalize();
  await page.locator('#matches').waitFor();
  expect([await person.paid(), person.wallet.signed.length]).toEqual([[listed.price], 1]);
});

it('who may have paid already is told so, and pays again only by a button that says it', async () => {
  const listed = await goods();
  const person = await visit();
  const { page } = person;
  const hash = await payUnbooked(person, listed.price);
  await recover();
  await person.toMessage(listed);
  await page.click('#sign');
  await page.locator('#stage-title', { hasText: 'You may have paid for this already' }).waitFor();
  expect(await person.readPage()).toContain(hash);
  expect(await page.locator('.moved').innerText()).toContain('A payment may exist. Do not pay again.');
  expect(await person.visitor.findings()).toEqual([]);
  await person.visitor.shoot('wallet-may-be-lost');
  const kept = await person.visitor.kept();
  await page.click('button >> text=Look again');
  await page.locator('#stage-title', { hasText: 'You may have paid for this already' }).waitFor();
  expect(await person.visitor.kept()).toBe(kept);
  expect([await person.paid(), person.wallet.signed.length]).toEqual([[listed.price], 1]);
  await page.click('button >> text=It was for something else: pay');
  await page.locator('.money.paid').waitFor();
  await world.finalize();
  await page.locator('#matches').waitFor();
  expect([await person.paid(), person.wallet.signed.length]).toEqual([[listed.price, listed.price], 1]);
  expect(beyondRefusals(person.visitor)).toEqual([]);
});
