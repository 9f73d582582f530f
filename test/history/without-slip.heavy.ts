import { afterEach, beforeEach, expect, test } from 'vitest';
import { type TestAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import type { LogCopyPlace } from '../../src/platform/log-copy/place.ts';
import { audit } from '../audit/audit.ts';
import { auditMarket } from '../audit/public/audit-market.ts';
import { countRows } from '../support/database.ts';
import { openFeeIntent, openIntent, signChallenge, transfer } from '../support/direct.ts';
import { type HistoryWorld, loseTo, openHistoryWorld, recoverHistory } from '../support/history-world.ts';
import { type Answer, BASE_URL, type Member, signProof, type World } from '../support/market-world.ts';
import {
  fundedWallet,
  GAS_WEI,
  listGoods,
  listPaid,
  newGoods,
  PRICE,
  signCollecting,
  signFee,
} from '../support/trade.ts';

const { sellerOne } = WORLD_ACCOUNTS;

let history: HistoryWorld;
let world: World;
let place: LogCopyPlace;
let keeper: Member;
let seller: Member;
let buyers: [Member, Member, Member];

beforeEach(async () => {
  history = await openHistoryWorld();
  place = await history.newHost();
  world = await history.startMarket({ logCopy: place });
  keeper = await world.join('the-keeper');
  seller = await world.join('seller-one');
  buyers = [await world.join('buyer-one'), await world.join('buyer-two'), await world.join('buyer-three')];
});
afterEach(() => history.stop());

async function list(): Promise<bigint> {
  const { body } = await listPaid(world, seller, newGoods(), await fundedWallet(world));
  return BigInt((body['listing'] as { id: number }).id);
}

const termsOf = (listing: bigint) => ({
  payTo: sellerOne.address,
  units: PRICE,
  resource: `${BASE_URL}/api/buy/${listing}`,
});

interface Paid {
  listing: bigint;
  payer: TestAccount;
  txHash: string;
  artifact: unknown;
}

async function buyByX402(listing: bigint, buyer: Member): Promise<Paid> {
  const payer = await fundedWallet(world);
  const proof = await signProof(world.chain, payer, termsOf(listing));
  await world.buy(listing, { key: buyer.key, proof: proof.v2 });
  await world.finalize();
  const { status, body } = await world.buy(listing, { key: buyer.key });
  expect(status).toBe(200);
  return {
    listing,
    payer,
    txHash: (body['receipt'] as { tx_hash: string }).tx_hash,
    artifact: body['artifact'],
  };
}

async function sender(): Promise<TestAccount> {
  const account = await fundedWallet(world);
  await fund(world.chain, [{ address: account.address, usdcUnits: 0n, wei: GAS_WEI }]);
  return account;
}

async function buyByTransfer(listing: bigint, buyer: Member): Promise<Paid> {
  const payer = await sender();
  const intent = await openIntent(world, buyer, listing);
  const txHash = await transfer(world, payer, intent.seller_wallet, PRICE);
  const signature = await signChallenge(payer, intent);
  await world.finalize();
  const body = { intent_id: intent.id, tx_hash: txHash, payer_signature: signature };
  const claimed = await world.ask('POST', `/api/claim/${listing}`, { key: buyer.key, body });
  expect(claimed.status).toBe(200);
  return { listing, payer, txHash, artifact: claimed.body['artifact'] };
}

/** Collects with a signature of the wallet that paid, and names the transaction. */
async function ask(
  { listing, payer, txHash }: Omit<Paid, 'artifact'>,
  key: string | null,
  signer = payer,
): Promise<Answer> {
  const goods = { id: listing, terms: termsOf(listing) };
  const signed = await signCollecting(world.chain, goods, { payer: signer.address, signer });
  return await world.buy(listing, {
    ...(key === null ? {} : { key }),
    proof: signed.v2,
    body: { ...signed.body, tx_hash: txHash },
  });
}

const said = ({ status, body }: Answer) => [status, body['reason'], body['do_not_pay_again']];
const paymentOf = ({ body }: Answer): number => (body['payment'] as { id: number }).id;
const decide = (answer: Answer, body: object, by = seller): Promise<Answer> =>
  world.ask('POST', `/api/review/${paymentOf(answer)}`, { key: by.key, body });
const REVIEW = [422, 'needs_review', true];

async function expectClean(): Promise<void> {
  await world.running.eventsSettled();
  const books = await audit({ databaseUrl: history.db.url, rpcUrl: world.chain.url });
  const seen = await auditMarket({ marketUrl: world.url, rpcUrl: world.chain.url });
  expect([books.faults, seen.faults]).toEqual([[], []]);
}

test('who has no slip shows wallet and transaction, and the payee decides', async () => {
  const goods = [await list(), await list(), await list(), await list()] as const;
  const backup = await history.primary.copyWhileRunning();
  const young = await list();
  const kept = await buyByX402(goods[0], buyers[0]);
  const given = await buyByTransfer(goods[1], buyers[0]);
  const back = await buyByX402(goods[2], buyers[1]);
  const ended = await buyByX402(goods[3], buyers[1]);
  const gone = await buyByX402(young, buyers[2]);
  await loseTo(backup, { history, world, place });
  expect(said(await ask(kept, buyers[0].key))).toEqual([503, 'history_lost', true]);
  await recoverHistory(world, place);
  const withdrawn = { key: seller.key, body: { reason: 'sold out' } };
  expect((await world.ask('POST', `/api/listing/${ended.listing}/withdraw`, withdrawn)).status).toBe(200);
  const later = await buyByX402(await list(), buyers[2]);

  const standing = await countRows(world.db.database);
  // These requests prove nothing: no key, another's wallet, a booked transfer, one after the loss, and none at all.
  expect(said(await ask(kept, null))).toEqual([401, 'key_required', true]);
  expect(said(await ask(kept, buyers[2].key, later.payer))).toEqual([422, 'transfer_not_found', true]);
  expect(said(await ask({ ...later, listing: kept.listing }, buyers[2].key))).toEqual([409, 'transaction_used', true]);
  const after = { ...kept, payer: await sender(), txHash: '' };
  after.txHash = await transfer(world, after.payer, sellerOne.address, PRICE);
  await world.finalize();
  expect(said(await ask(after, buyers[2].key))).toEqual([422, 'transfer_not_found', true]);
  const nothing = { ...kept, txHash: `0x${'0'.repeat(64)}` };
  expect(said(await ask(nothing, buyers[0].key))).toEqual([422, 'transfer_not_found', true]);
  expect(said(await ask(kept, seller.key))).toEqual([403, 'own_goods', false]);

  expect(await countRows(world.db.database)).toEqual(standing);

  // The payer opens one review and gets nothing until it is decided.
  const reviews = [await ask(kept, buyers[0].key), await ask(given, buyers[0].key), await ask(back, buyers[1].key)];
  reviews.push(await ask(ended, buyers[1].key));
  expect(reviews.map(said)).toEqual([REVIEW, REVIEW, REVIEW, REVIEW]);
  expect(said(await ask(kept, buyers[0].key))).toEqual(REVIEW);
  expect(paymentOf(await ask(kept, buyers[0].key))).toBe(paymentOf(reviews[0] as Answer));
  expect(said(await world.buy(kept.listing, { key: buyers[0].key }))).toEqual(REVIEW);
  // The payee lists the lost goods again, and their buyer asks under the new id.
  expect(said(await world.buy(gone.listing, { key: buyers[2].key }))).toEqual([409, 'listing_lost', true]);
  const relisted = await list();
  const lost = await ask({ ...gone, listing: relisted }, buyers[2].key);
  expect(said(lost)).toEqual(REVIEW);
  // One transfer opens one review, whatever goods are requested.
  expect(said(await ask({ ...kept, listing: relisted }, buyers[0].key))).toEqual([409, 'transaction_used', true]);

  const [keptReview, givenReview, backReview, endedReview] = reviews as [Answer, Answer, Answer, Answer];
  for (const review of [keptReview, endedReview, lost]) {
    expect((await decide(review, { outcome: 'deliver' })).status).toBe(200);
  }
  expect((await decide(givenReview, { outcome: 'declined', note: 'known here as another sale' })).status).toBe(200);
  await fund(world.chain, [{ address: sellerOne.address, usdcUnits: 0n, wei: GAS_WEI }]);
  const refund = await transfer(world, sellerOne, back.payer.address, PRICE);
  await world.finalize();
  expect((await decide(backReview, { outcome: 'refunded', tx_hash: refund })).status).toBe(200);

  for (const [{ artifact, listing }, buyer] of [[kept, buyers[0]] as const, [ended, buyers[1]] as const]) {
    const { status, body } = await world.buy(listing, { key: buyer.key });
    expect([status, body['artifact'], body['collected_by']]).toEqual([200, artifact, 'key']);
  }
  expect((await world.buy(relisted, { key: buyers[2].key })).status).toBe(200);
  expect(said(await ask(given, buyers[0].key))).toEqual([409, 'transaction_used', true]);
  expect(said(await ask(back, buyers[1].key))).toEqual([409, 'transaction_used', true]);
  await expectClean();
});

test('a fee without a slip is the maintainer’s to decide on, who makes it a credit', async () => {
  await list();
  const backup = await history.primary.copyWhileRunning();
  const payer = await sender();
  const goods = newGoods();
  const proof = await signFee(world, payer);
  await listGoods(world, buyers[0], goods, { proof: proof.v2 });
  await world.finalize();
  const listed = await listGoods(world, buyers[0], goods);
  expect(listed.status).toBe(201);
  const { recent_fees: fees } = (await world.ask('GET', '/treasury')).body as { recent_fees: { tx_hash: string }[] };
  const txHash = fees[0]?.tx_hash;
  await loseTo(backup, { history, world, place });
  await recoverHistory(world, place);

  const claimFee = async (by: Member, signer: TestAccount): Promise<Answer> => {
    const intent = await openFeeIntent(world, by);
    const signature = await signChallenge(signer, intent);
    const body = { ...goods, fee_payment: { intent_id: intent.id, tx_hash: txHash, payer_signature: signature } };
    return await world.ask('POST', '/api/listing', { key: by.key, body });
  };
  // Another merchant's fee pays for nothing here.
  expect(said(await claimFee(buyers[1], await sender()))).toEqual([422, 'wrong_payer', true]);
  const claimed = await claimFee(buyers[0], payer);
  expect(said(claimed)).toEqual([422, 'authorized_transfer', true]);
  expect((await decide(claimed, { outcome: 'deliver' }, keeper)).status).toBe(200);
  const again = await listGoods(world, buyers[0], goods);
  expect([again.status, again.body['reason']]).toEqual([201, undefined]);
  await expectClean();
});
