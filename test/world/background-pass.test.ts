import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestAccount, testAccount, USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund, submit } from '../../src/local/chain/transactions.ts';
import type { Rpc } from '../../src/platform/chain/rpc.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { reorg, settleData } from '../support/chain.ts';
import { BASE_URL, type Member, type SignedProof, signProof, startWorld, type World } from '../support/market-world.ts';
import { startScriptedFacilitator } from '../support/scripted-facilitator.ts';
import { seedListing, seedPaidPurchase } from '../support/seed.ts';

const { sellerOne, stranger } = WORLD_ACCOUNTS;
const PRICE = 2_500_000n;
const facilitator = await startScriptedFacilitator();
let world: World;
let seller: Member;
let buyer: Member;
let made = 0;
let aheadMs = 0;

beforeAll(async () => {
  world = await startWorld({
    facilitatorUrl: facilitator.url,
    chain: { finalityBlocks: 8 },
    clock: { now: () => systemClock.now() + aheadMs, sleep: systemClock.sleep },
  });
  facilitator.script({ verify: 'valid', settle: 'garbage' });
  await world.join('the-keeper');
  seller = await world.join('seller-one');
  buyer = await world.join('buyer-one');
});
afterAll(async () => {
  await world?.stop();
  await facilitator.close();
});

async function goods() {
  made += 1;
  const given = { wallet: sellerOne.address, priceUnits: PRICE, artifact: `pass goods ${made}` };
  const { id } = await seedListing(world.db.database, seller.id, given);
  return { id, terms: { payTo: sellerOne.address, units: PRICE, resource: `${BASE_URL}/api/buy/${id}` } };
}

async function wallets(count: number): Promise<TestAccount[]> {
  made += 1;
  const all = Array.from({ length: count }, (_, n) => testAccount(`pass payer ${made} ${n}`));
  await fund(
    world.chain,
    all.map(({ address }) => ({ address, usdcUnits: 10n * PRICE })),
  );
  await world.chain.mine(12);
  return all;
}

const requestsOf = (rpc: Rpc): number => rpc.traffic().requests;
const listings = new Map<SignedProof, bigint>();
const buyAgain = (proof: SignedProof) => world.buy(listings.get(proof) ?? 0n, { key: buyer.key, proof: proof.v2 });

/** Opens `count` payments of one merchant that are settling and have not been seen on the chain. */
async function openPayments(count: number): Promise<SignedProof[]> {
  return await Promise.all(
    (await wallets(count)).map(async (payer) => {
      const listing = await goods();
      const proof = await signProof(world.chain, payer, listing.terms);
      listings.set(proof, listing.id);
      expect((await buyAgain(proof)).status).toBe(503);
      return proof;
    }),
  );
}

async function settleInOneBlock(proofs: readonly SignedProof[]): Promise<void> {
  await world.chain.rpc.call('evm_setAutomine', [false]);
  for (const { authorization, signature } of proofs) {
    await submit(world.chain, stranger, { to: USDC_ADDRESS, data: settleData(authorization, signature) });
  }
  await world.chain.mine(1);
  await world.chain.rpc.call('evm_setAutomine', [true]);
}

describe('the background pass', () => {
  it('asks the chain nothing while nothing is undecided', async () => {
    const { rpc } = world.running.market;
    await world.running.payments.reconcileOnce();
    const before = requestsOf(rpc);
    await world.running.payments.reconcileOnce();
    expect(requestsOf(rpc)).toBe(before);
    await openPayments(1);
    await world.running.payments.reconcileOnce();
    expect(requestsOf(rpc)).toBeGreaterThan(before);
  });

  it('reads the heads after some blocks in two requests', async () => {
    const { market, payments } = world.running;
    await payments.watch.check();
    await world.chain.mine(5);
    aheadMs += 10_000;
    const before = requestsOf(market.rpc);
    await payments.watch.check();
    expect(requestsOf(market.rpc) - before).toBeLessThanOrEqual(2);
  });

  it('sees a reorganisation of each of 60 open payments in the next pass', async () => {
    const seen = async (): Promise<number> =>
      (await world.db.database.rows(sql`select id from payments where status = 'settling' and tx_hash is not null`))
        .length;
    await settleInOneBlock(await openPayments(60));
    await world.running.payments.reconcileOnce();
    expect(await seen()).toBe(60);
    await reorg(world.chain, 2);
    await world.running.payments.reconcileOnce();
    expect(await seen()).toBe(0);
  }, 60_000);

  it('sees a reorganisation of a payment that was mined after its last look', async () => {
    const [early, late] = await openPayments(2);
    if (early === undefined || late === undefined) throw new Error('no payments');
    const seen = async ({ authorization: { from, nonce } }: SignedProof) =>
      (await world.ask('GET', `/api/payment?payer=${from}&nonce=${nonce}`)).body['payment'];
    await settleInOneBlock([early]);
    await world.running.payments.reconcileOnce();
    await settleInOneBlock([late]);
    // The buyer's request sees the transfer before any background job does.
    await buyAgain(late);
    expect(await seen(late)).toMatchObject({ stage: 'mined' });
    await reorg(world.chain, 1);
    await world.running.payments.reconcileOnce();
    expect([await seen(early), await seen(late)]).toMatchObject([{ stage: 'mined' }, { stage: 'settling' }]);
  }, 60_000);
});

it("a payer's signature collects its own purchase behind a key whose own purchase needs another signature", async () => {
  const { id, terms } = await goods();
  const [payer] = await wallets(1);
  if (payer === undefined) throw new Error('no wallet');
  await seedPaidPurchase(world.db.database, id, { merchantId: buyer.id, payerCollectsOnly: true });
  await seedPaidPurchase(world.db.database, id, { payer: payer.address });
  const proof = await signProof(world.chain, payer, { ...terms, now: systemClock.now() + aheadMs });
  const asked = { proof: proof.v2, body: { collect: true } };
  expect((await world.buy(id, asked)).status).toBe(200);
  const answer = await world.buy(id, { ...asked, key: buyer.key });
  expect([answer.status, answer.body['reason']]).toEqual([200, undefined]);
});
