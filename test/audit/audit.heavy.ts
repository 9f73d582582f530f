import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { usdcOfUnits } from '../../src/contract/money.ts';
import type { EventKind } from '../../src/contract/vocabulary.ts';
import { USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { type JsonValue, recordEvent } from '../../src/market/events/record-event.ts';
import { readReceipt } from '../../src/platform/chain/reads.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { type LyingBooks, openLyingBooks } from '../support/audited-world.ts';
import { settleData, usdcAdmin } from '../support/chain.ts';
import { claim, type DirectPurchase, payDirectly } from '../support/direct.ts';
import { BASE_URL, type Member, signProof, startWorld, type World } from '../support/market-world.ts';
import { fundedWallet, listPaid, newGoods, PRICE } from '../support/trade.ts';
import { seedWorldListing, seedWorldSale } from '../support/world-listing.ts';
import { sendBatch } from '../world/batch-transaction.ts';
import { audit } from './audit.ts';

const { sellerOne, buyerOne, buyerTwo, buyerThree } = WORLD_ACCOUNTS;

let world: World;
let direct: DirectPurchase;
let lies: LyingBooks;
/** A transfer that fits the direct purchase and is not final yet. */
let young: { hash: string; block: string; number: bigint };
/** A final transaction that used one authorization of the payer without moving money, while another call in it moved the price. */
let batch: { hash: string; block: string; number: bigint; log: number; nonce: string };
/** A final transaction unrelated to any payment. */
let stray: string;

beforeAll(async () => {
  world = await startWorld();
  const keeper = await world.join('the-keeper');
  const seller = await world.join('seller-one');
  const buyers = [await world.join('buyer-one'), await world.join('buyer-two')] as const;
  stray = (await usdcAdmin(world.chain).transfer(buyerThree, sellerOne.address, 1n)).transactionHash;
  expect((await world.ask('POST', '/api/listing', { key: keeper.key, body: newGoods() })).status).toBe(201);
  const listed = await listPaid(world, seller, newGoods(), await fundedWallet(world));
  const listingId = BigInt(Number(listed.body['listing_id']));
  await buyByX402(listingId, buyers[0]);
  direct = await payDirectly(world, { buyer: buyers[1], listingId, payer: buyerTwo, units: PRICE });
  await world.finalize();
  expect((await claim(world, buyers[1], listingId, direct)).status).toBe(200);
  await payTooLittle(listingId, await world.join('buyer-three'), seller);
  await sellThing(keeper, buyers[0]);
  await world.running.eventsSettled();
  batch = await spendNonceOnNothing();
  const late = await usdcAdmin(world.chain).transfer(buyerTwo, sellerOne.address, PRICE);
  young = { hash: late.transactionHash, block: late.blockHash, number: late.blockNumber };
  lies = await openLyingBooks(world.db.url);
});

afterAll(async () => {
  await lies?.end();
  await world?.stop();
});

async function buyByX402(listingId: bigint, buyer: Member): Promise<void> {
  const resource = `${BASE_URL}/api/buy/${listingId}`;
  const proof = await signProof(world.chain, buyerOne, { payTo: sellerOne.address, units: PRICE, resource });
  await world.buy(listingId, { key: buyer.key, proof: proof.v2 });
  await world.finalize();
  expect((await world.buy(listingId, { key: buyer.key })).status).toBe(200);
}

/** Pays too little. The payment is reviewed and refunded. During the review the buyer claims a top-up once, and never claims it again. */
async function payTooLittle(listingId: bigint, buyer: Member, seller: Member): Promise<void> {
  const paid = await payDirectly(world, { buyer, listingId, payer: buyerThree, units: PRICE - 1n });
  await world.finalize();
  const { body } = await claim(world, buyer, listingId, paid);
  const { transactionHash: txHash } = await usdcAdmin(world.chain).transfer(buyerThree, sellerOne.address, 1n);
  await world.finalize();
  expect((await claim(world, buyer, listingId, { ...paid, txHash })).status).toBe(422);
  const back = await usdcAdmin(world.chain).transfer(sellerOne, buyerThree.address, PRICE);
  await world.finalize();
  const { id } = body['payment'] as { id: number };
  const decision = { outcome: 'refunded', tx_hash: back.transactionHash };
  expect((await world.ask('POST', `/api/review/${id}`, { key: seller.key, body: decision })).status).toBe(200);
}

async function spendNonceOnNothing(): Promise<typeof batch> {
  const nothing = await signProof(world.chain, buyerOne, { payTo: buyerOne.address, units: 0n });
  const pays = await signProof(world.chain, buyerOne, { payTo: sellerOne.address, units: PRICE });
  const calls = [nothing, pays].map(({ authorization, signature }) => settleData(authorization, signature));
  const hash = await sendBatch(world, buyerThree, calls);
  await world.finalize();
  const receipt = await readReceipt(world.chain.rpc, hash);
  if (receipt === null) throw new Error('the batch is not mined');
  const log = receipt.logs.at(-1)?.logIndex ?? -1;
  return { hash, block: receipt.blockHash, number: receipt.blockNumber, log, nonce: nothing.authorization.nonce };
}

/** Records a sale as a sync does, for a real transfer on the chain. */
async function sellThing(keeper: Member, buyer: Member): Promise<void> {
  const { database } = world.db;
  const { id, wallet, priceUnits, offerId } = await seedWorldListing(database, keeper.id);
  const { transactionHash: txHash, ...mined } = await usdcAdmin(world.chain).transfer(buyerOne, wallet, priceUnits);
  await world.finalize();
  const transfer = { txHash, ...mined, logIndex: mined.logs[0]?.logIndex ?? -1 };
  await seedWorldSale(database, id, { merchantId: buyer.id, payer: buyerOne.address, transfer });
  // These rows come from no request, so no event records them.
  await database.run(sql`alter table events disable trigger events_tell_of_the_books`);
  const told = { listing_id: Number(id), merchant_id: Number(keeper.id) };
  const paid_usdc = usdcOfUnits(priceUnits);
  await logEvent('maintainer_seed', keeper.handle, {
    ...told,
    price_usdc: paid_usdc,
    seller_wallet: wallet,
    aisle: 'world',
  });
  const sold = { offer_id: Number(offerId), paid_usdc, verified_via: 'city', tx_hash: txHash };
  await logEvent('world_sale', buyer.handle, { ...told, ...sold });
}

function logEvent(kind: EventKind, actor: string, detail: Record<string, JsonValue>): Promise<void> {
  const wakeEvents = (): void => {};
  return world.db.database.transaction((tx) =>
    recordEvent(tx, { clock: systemClock, wakeEvents }, { kind, actor, detail }),
  );
}

const auditNow = () => audit({ databaseUrl: world.db.url, rpcUrl: world.chain.url, token: USDC_ADDRESS, quiet: true });

const bytea = (hash: string): string => `'\\x${hash.slice(2)}'::bytea`;
const SOLD_DIRECTLY = `(select id from payments where path = 'direct' and status = 'completed')`;
const SOLD_BY_X402 = `(select id from payments where path = 'x402' and purpose = 'purchase')`;
const FEE = `(select id from payments where purpose = 'listing_fee')`;
const GIVEN_BACK = `(select id from payments where review_outcome = 'refunded')`;
const isProof = (payment: string): string => `payment_id = ${payment} and purpose <> 'refund'`;

const OF_THING = `purpose = 'city'`;
const proveThingBy = (hash: string, more = ''): string =>
  `update payment_proofs set tx_hash = ${bytea(hash)} ${more} where ${OF_THING};
   update purchases set tx_hash = ${bytea(hash)} where verified_via = 'city'`;

const LIES: readonly (readonly [lie: string, found: RegExp, plant: () => string])[] = [
  ['a delivery is forgotten', /has 0 purchases/, () => `delete from purchases where payment_id = ${SOLD_BY_X402}`],
  [
    'goods are handed out in a purchase without an event',
    /no event tells of this: sale of listing .* \(purchase \d+\)/,
    () =>
      `insert into purchases (listing_id, merchant_id, price_units, paid_units, verified_via, created_at)
       select listing_id, 1, 0, 0, 'free', now() from purchases limit 1`,
  ],
  [
    'a sale is told of twice',
    /has 2 events of a sale/,
    () =>
      `insert into events (kind, at, canonical, in_door, in_window) select kind, at, canonical, in_door, in_window from events
       where kind = 'sale' limit 1`,
  ],
  ['an event is taken out', /a gap in the events/, () => `delete from events where kind = 'sale'`],
  [
    'a proof names a transaction that never was',
    /which the chain does not have/,
    () => `update payment_proofs set tx_hash = sha256('lie') where ${isProof(SOLD_DIRECTLY)}`,
  ],
  [
    'a proof names another transaction of the chain',
    /without its transfer/,
    () => `update payment_proofs set tx_hash = ${bytea(stray)} where ${isProof(SOLD_DIRECTLY)}`,
  ],
  [
    'a proof names a block of another chain',
    /by a block that is not in the chain/,
    () => `update payment_proofs set block_hash = sha256('lie') where ${isProof(SOLD_BY_X402)}`,
  ],
  [
    'a proof names another log',
    /without its transfer/,
    () => `update payment_proofs set log_index = log_index + 1 where ${isProof(SOLD_BY_X402)}`,
  ],
  [
    'a proof names another transfer of its transaction',
    /by a transfer that its authorization did not make/,
    () => `update payment_proofs set tx_hash = ${bytea(batch.hash)}, block_hash = ${bytea(batch.block)},
      block_number = ${batch.number}, log_index = ${batch.log} where ${isProof(SOLD_BY_X402)};
      update payments set nonce = ${bytea(batch.nonce)} where id = ${SOLD_BY_X402}`,
  ],
  [
    'goods are handed out on no transfer of their own',
    /has no transfer of its own/,
    () => `delete from payment_proofs where ${isProof(SOLD_BY_X402)};
      update payments set tx_hash = ${bytea(batch.hash)}, nonce = ${bytea(batch.nonce)}, end_reason = 'transaction_used',
        review_outcome = 'deliver', reviewed_at = now() where id = ${SOLD_BY_X402}`,
  ],
  [
    'a proof says that more was paid',
    /without its transfer/,
    () => `update payment_proofs set value_units = value_units + 1 where ${isProof(SOLD_DIRECTLY)}`,
  ],
  [
    'goods are delivered on a transfer that is not final',
    /which is not final/,
    () =>
      `update payment_proofs set tx_hash = ${bytea(young.hash)}, block_hash = ${bytea(young.block)}, block_number = ${young.number},
         log_index = 0 where ${isProof(SOLD_DIRECTLY)}`,
  ],
  [
    'another wallet is said to have paid',
    /without its transfer/,
    () => `update payments set payer = ${bytea(buyerThree.address)} where id = ${SOLD_BY_X402}`,
  ],
  [
    'a direct payment is said to be one by x402',
    /not by its authorization/,
    () =>
      `update payments set path = 'x402', nonce = sha256('lie'), valid_after = 0, valid_before = 2000000000, opened_block = 0,
         intent_id = null, window_from = null, window_to = null where id = ${SOLD_DIRECTLY}`,
  ],
  [
    'less was asked for than was paid by x402',
    /not the exact amount/,
    () => `update payments set value_units = value_units - 1 where id = ${SOLD_BY_X402}`,
  ],
  [
    'too little is delivered on',
    /too little was paid/,
    () => `update payments set value_units = value_units + 1 where id = ${SOLD_DIRECTLY}`,
  ],
  [
    'the window was another one',
    /outside its window/,
    () =>
      `update payments set window_from = window_from - interval '1 day', window_to = window_to - interval '1 day'
       where id = ${SOLD_DIRECTLY}`,
  ],
  [
    'a removal came before the payments',
    /was paid after the removal/,
    () => `update listings set state = 'removed', removed_at = now() - interval '1 day', removed_reason = 'x',
       removed_reason_code = 'fraud' where fee_id is not null`,
  ],
  [
    'a paid claim is called unpaid',
    /ended unpaid, and 0x\w+ paid for it/,
    () =>
      `with gone as (delete from payment_proofs where ${isProof(SOLD_DIRECTLY)}),
         unsold as (delete from purchases where payment_id = ${SOLD_DIRECTLY})
       update payments set status = 'unpaid', end_reason = 'transfer_not_found' where id = ${SOLD_DIRECTLY}`,
  ],
  [
    'a used authorization is called unpaid',
    /was paid by 0x/,
    () =>
      `with gone as (delete from payment_proofs where ${isProof(SOLD_BY_X402)}),
         unsold as (delete from purchases where payment_id = ${SOLD_BY_X402})
       update payments set status = 'unpaid', end_reason = 'expired' where id = ${SOLD_BY_X402}`,
  ],
  [
    'a payment is still open after everything had the time to end',
    /has not ended/,
    () => `update payments set status = 'settling', ended_at = null where id = ${FEE}`,
  ],
  [
    'the proof of a delivery is gone',
    /has no proof/,
    () => `delete from payment_proofs where ${isProof(SOLD_BY_X402)}`,
  ],
  ['a fee is not in the books', /has 0 lines in the books/, () => 'delete from fees'],
  ['the running total is another', /does not add up/, () => 'update fees set running_units = running_units + 1'],
  [
    'a listing was never paid for',
    /a listing without a fee/,
    () => 'update listings set fee_id = null where fee_id is not null',
  ],
  [
    'the terms of an intent were others',
    /against the terms of its intent/,
    () => `update payment_intents set minimum_units = minimum_units + 1`,
  ],
  [
    'a refund has no transfer',
    /its refund is not as decided/,
    () => `delete from payment_proofs where purpose = 'refund'`,
  ],
  [
    'a refund is another transfer',
    /gave nothing back/,
    () => `update payment_proofs set tx_hash = ${bytea(stray)} where purpose = 'refund'`,
  ],
  [
    'a refund came before the payment',
    /came before the payment/,
    () =>
      `update payment_proofs set block_number = (select block_number from payment_proofs where purpose = 'refund')
       where ${isProof(GIVEN_BACK)}`,
  ],
  [
    'a review ended without an event',
    /no event tells of this: review of payment/,
    () => `delete from events where kind = 'review'`,
  ],
  ['the proof of a thing is gone', /without a proof of its own/, () => `delete from payment_proofs where ${OF_THING}`],
  [
    'the purchase of a thing is gone',
    /a proof of a thing without a sale.*\n.*sold without a purchase/,
    () => `delete from purchases where verified_via = 'city'`,
  ],
  [
    'a thing was sold on another transfer',
    /of the thing of listing \d+ is proven by a transaction without its transfer/,
    () => proveThingBy(stray),
  ],
  [
    'a thing was sold on a transfer that is not final',
    /of the thing .*, which is not final/,
    () => proveThingBy(young.hash, `, block_hash = ${bytea(young.block)}`),
  ],
  [
    'a thing was sold for too little',
    /of the thing .*: too little was paid/,
    () => `update listings set price_units = price_units + 1 where aisle = 'world'`,
  ],
  [
    'a thing was sold to another than the one who checked out',
    /by another checkout than its own/,
    () => `update world_checkouts set merchant_id = 1`,
  ],
  [
    'a thing that is sold is for sale',
    /bought and not sold/,
    () => `update listings set state = 'live' where aisle = 'world'`,
  ],
  [
    'a thing was sold without an event',
    /no event tells of this: sale of the thing/,
    () => `update events set kind = 'world_canceled' where kind = 'world_sale'`,
  ],
  [
    'a thing was paid for like goods',
    /as if it were goods/,
    () => `update payments set listing_id = (select id from listings where aisle = 'world') where id = ${SOLD_BY_X402}`,
  ],
  [
    'a wallet sells goods and things',
    /one wallet sells goods and things/,
    () => `update listings set seller_wallet = (select seller_wallet from listings where aisle = 'world')`,
  ],
  [
    'a fee is said to have been more',
    /a fee or a purchase says another transfer than its proof/,
    () => 'update fees set amount_units = amount_units + 1, running_units = running_units + 1',
  ],
  [
    'goods are said to have been bought at another price',
    /at another price than theirs/,
    () => `update purchases set price_units = price_units + 1 where payment_id = ${SOLD_BY_X402}`,
  ],
  [
    'the body of an ended fee is kept',
    /a body is kept of a fee that has ended/,
    () =>
      `insert into pending_listings (payment_id, merchant_id, body) select id, merchant_id, 'x' from payments where id = ${FEE}`,
  ],
];

it('finds nothing where no row was changed', async () => {
  expect(await auditNow()).toMatchObject({
    ...{ payments: 4, checked: 4, proofs: 5, fees: 1, purchases: 3, listings: 3, faults: [] },
    artifacts: { count: 2 },
    // The books do not contain the balance minted at the start of the chain.
    to_treasury: { wallets: 1, transfers: 2, booked: 1, unbooked: [{ sender: `0x${'0'.repeat(40)}` }] },
  });
});

it.each(LIES)('finds that %s', async (_lie, found, plant) => {
  try {
    await lies.plant(plant());
    expect((await auditNow()).faults.join('\n')).toMatch(found);
  } finally {
    await lies.putBack();
  }
});

it('does not blame a claim for a transaction that came when its window was over and it had ended', async () => {
  const lie = LIES.find(([name]) => name === 'a paid claim is called unpaid');
  if (lie === undefined) throw new TypeError('there is no such lie');
  try {
    await lies.plant(lie[2]());
    const shift = `- interval '1 day'`;
    await lies.plant(`update payments set window_from = window_from ${shift}, window_to = window_to ${shift},
      ended_at = ended_at ${shift} where path = 'direct' and status = 'unpaid'`);
    expect((await auditNow()).faults.join('\n')).not.toMatch(/ended unpaid/);
  } finally {
    await lies.putBack();
  }
});

it('finds nothing again when all lies are taken back', async () => {
  expect((await auditNow()).faults).toEqual([]);
  expect(await readReceipt(world.chain.rpc, direct.txHash)).not.toBeNull();
});
