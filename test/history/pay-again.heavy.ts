import { afterEach, beforeEach, expect, test } from 'vitest';
import { checksummed } from '../../src/contract/chain-values.ts';
import { LISTING_FEE_UNITS } from '../../src/contract/vocabulary.ts';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund, transferWallet } from '../../src/local/chain/transactions.ts';
import type { Hex } from '../../src/platform/hex.ts';
import type { LogCopyPlace } from '../../src/platform/log-copy/place.ts';
import { createClient } from '../../src/sdk/client.ts';
import { buy } from '../../src/sdk/payments/buy.ts';
import { buyByTransfer } from '../../src/sdk/payments/direct/buy-by-transfer.ts';
import { createMemoryTransferStore } from '../../src/sdk/payments/direct/transfer-store.ts';
import { listGoods as listBySdk } from '../../src/sdk/payments/list-goods.ts';
import { createMemoryProofStore, type ProofStore } from '../../src/sdk/payments/proof-store.ts';
import { transfer } from '../support/direct.ts';
import { type HistoryWorld, loseTo, openHistoryWorld, recoverHistory } from '../support/history-world.ts';
import {
  type Answer,
  BASE_URL,
  type Member,
  paidUnits,
  type SignedProof,
  signProof,
  type World,
} from '../support/market-world.ts';
import { type GoodsBody, listPaid, newGoods } from '../support/trade.ts';

const { sellerOne, treasury } = WORLD_ACCOUNTS;
const PRICE = 2_500_000n;
const WEI = 10n ** 18n;

let history: HistoryWorld;
let world: World;
let place: LogCopyPlace;
let seller: Member;
let buyer: Member;
let payer: TestAccount;

beforeEach(async () => {
  history = await openHistoryWorld();
  place = await history.newHost();
  world = await history.startMarket({ logCopy: place });
  await world.join('the-keeper');
  seller = await world.join('seller-one');
  buyer = await world.join('buyer-one');
  payer = await wallet();
});
afterEach(() => history.stop());

let wallets = 0;
async function wallet(): Promise<TestAccount> {
  wallets += 1;
  const account = testAccount(`payer ${wallets} of a loss`);
  await fund(world.chain, [{ address: account.address, usdcUnits: 100_000_000n, wei: WEI }]);
  return account;
}

async function list(changes: Partial<GoodsBody> = {}): Promise<number> {
  const { body } = await listPaid(world, seller, newGoods(changes), await wallet());
  return (body['listing'] as { id: number }).id;
}

const sign = (listing: number, by = payer, units = PRICE): Promise<SignedProof> =>
  signProof(world.chain, by, {
    payTo: sellerOne.address,
    units,
    resource: `${BASE_URL}/api/buy/${listing}`,
  });
const send = (listing: number, proof: SignedProof, body?: object): Promise<Answer> =>
  world.buy(BigInt(listing), { proof: proof.v2, ...(body === undefined ? {} : { body }) });

/** Pays and waits until the transfer is final. Only collecting is left. */
async function payUntilFinal(listing: number, by = payer): Promise<SignedProof> {
  const proof = await sign(listing, by);
  await send(listing, proof);
  await world.finalize();
  expect(await send(listing, proof)).toMatchObject({ body: { reason: 'sign_to_collect' } });
  return proof;
}

const paid = (by: TestAccount, to: Hex = sellerOne.address): Promise<bigint[]> =>
  paidUnits(world.chain, by.address, to);

/** Creates a client whose waits mine blocks, so that finality takes no real time. */
function clientOf(member: Member) {
  const named = { baseUrl: world.url, callsItself: BASE_URL };
  return createClient({ ...named, environment: { sleep: () => world.finalize() }, key: member.key });
}

const MAY_BE_LOST = { status: 409, body: { reason: 'payment_may_be_lost', do_not_pay_again: true } };
const isOpened = ({ status, body }: Answer): void => expect([status, body['reason']]).toEqual([202, undefined]);

test('a buyer who paid in what was lost is told so before paying again, and no other buyer is delayed', async () => {
  const [listing, dearer, twin] = [await list(), await list({ price_usdc: 3 }), await list()];
  const keeps = await wallet();
  await payUntilFinal(twin, keeps);
  const backup = await history.primary.copyWhileRunning();
  const old = await payUntilFinal(listing);
  await loseTo(backup, { history, world, place });
  for (const body of [undefined, { pay_anew: true }]) {
    expect(await send(listing, await sign(listing), body)).toMatchObject({
      status: 503,
      body: { reason: 'history_lost', do_not_pay_again: true },
    });
  }
  await recoverHistory(world, place);

  // Send the proof that paid.
  expect(await send(listing, old)).toMatchObject({
    status: 409,
    body: { reason: 'authorization_used_elsewhere', do_not_pay_again: true },
  });
  // Send a new proof, with and without a key, and open intents.
  const settled = world.facilitator.lines.length;
  const fresh = await sign(listing);
  const told = await send(listing, fresh);
  expect(told).toMatchObject(MAY_BE_LOST);
  const { tx_hash, block } = told.body as { tx_hash: Hex; block: number };
  const receipt = (await world.chain.rpc.call('eth_getTransactionReceipt', [tx_hash])) as { blockNumber: string };
  expect(Number(receipt.blockNumber)).toBe(block);
  expect(await world.buy(BigInt(listing), { key: buyer.key, proof: fresh.v1 })).toMatchObject(MAY_BE_LOST);
  const intent = (body: object): Promise<Answer> =>
    world.ask('POST', `/api/purchase-intent/${listing}`, { key: buyer.key, body });
  expect(await intent({ payer_wallet: payer.address })).toMatchObject(MAY_BE_LOST);
  // The market cannot search without a named wallet.
  await world.chain.mine();
  expect((await intent({})).status).toBe(201);
  expect((await intent({ payer_wallet: payer.address, pay_anew: true })).status).toBe(201);
  expect(world.facilitator.lines.length).toBe(settled);
  expect(await paid(payer)).toEqual([PRICE]);

  // These payments open: another payer, another price, and a transfer that is in the books.
  isOpened(await send(listing, await sign(listing, await wallet())));
  isOpened(await send(dearer, await sign(dearer, payer, 3_000_000n)));
  isOpened(await send(listing, await sign(listing, keeps)));
  // The buyer was told and confirms, so the same proof is accepted.
  isOpened(await send(listing, fresh, { pay_anew: true }));
  await world.finalize();
  expect(await send(listing, fresh)).toMatchObject({ body: { reason: 'sign_to_collect' } });
  expect(await paid(payer)).toEqual([PRICE, 3_000_000n, PRICE]);
  // The second payment is booked, while the lost one still is not.
  expect(await send(twin, await sign(twin))).toMatchObject({ ...MAY_BE_LOST, body: { tx_hash, block } });
});

test('our client with an empty store, and with what an earlier version has kept, does not pay twice', async () => {
  const [one, two] = [await list(), await list()];
  const backup = await history.primary.copyWhileRunning();
  const [client, keyless] = [
    clientOf(buyer),
    createClient({ baseUrl: world.url, callsItself: BASE_URL, environment: clientOf(buyer).environment }),
  ];
  const kept = createMemoryProofStore();
  // Drop the slip, because it would give the buyer its goods.
  const saves: ProofStore = {
    ...kept,
    save: (key, { recovery_slip: _, ...payment }) => kept.save(key, payment),
    clear: async () => {},
  };
  const order = { listingId: one, maxPriceUsdc: 3, wallet: payer.signer };
  await buy({ ...order, client: keyless, proofStore: saves });
  const direct = await wallet();
  const store = createMemoryTransferStore();
  const byTransfer = { client, listingId: two, maxPriceUsdc: 3, wallet: transferWallet(world.chain, direct) };
  await world.chain.mine();
  await buyByTransfer({ ...byTransfer, store });
  const fee = await wallet();
  const goods = { ...newGoods() };
  const lists = { client: clientOf(seller), wallet: fee.signer, listing: goods as never };
  await listBySdk(lists);
  await loseTo(backup, { history, world, place });
  await recoverHistory(world, place);

  const lost = { name: 'PaymentMayBeLost', doNotPayAgain: true, txHash: expect.stringMatching(/^0x/) };
  const again = createMemoryProofStore();
  for (const proofStore of [again, again]) {
    await expect(buy({ ...order, client: keyless, proofStore })).rejects.toMatchObject(lost);
  }
  for (let round = 0; round < 2; round += 1) {
    await expect(buy({ ...order, client: keyless, proofStore: kept })).rejects.toMatchObject({
      reason: 'authorization_used_elsewhere',
      doNotPayAgain: true,
    });
  }
  await world.chain.mine();
  await expect(buyByTransfer({ ...byTransfer, store: createMemoryTransferStore() })).rejects.toMatchObject(lost);
  await expect(listBySdk({ ...lists, client: clientOf(seller) })).rejects.toMatchObject(lost);
  expect([await paid(payer), await paid(direct), await paid(fee, treasury.address)]).toEqual([
    [PRICE],
    [PRICE],
    [LISTING_FEE_UNITS],
  ]);
  // Pay again only on request. For a fee, this requires exactly the same body.
  const delivery = await buy({ ...order, client: keyless, proofStore: again, payAnew: true });
  expect(delivery.listing_id).toBe(one);
  await listBySdk({ ...lists, client: clientOf(seller), payAnew: true });
  expect([await paid(payer), await paid(fee, treasury.address)]).toEqual([
    [PRICE, PRICE],
    [LISTING_FEE_UNITS, LISTING_FEE_UNITS],
  ]);
  // The same body without `pay_anew` returns the same listing.
  const same = await world.ask('POST', '/api/listing', { key: seller.key, body: goods });
  expect(same.status).toBe(200);
});

test('who asks to pay for a listing that was lost is told who has the money, where the copy tells', async () => {
  const kept = await list();
  const backup = await history.primary.copyWhileRunning();
  const lost = await list();
  const proof = await payUntilFinal(lost);
  await loseTo(backup, { history, world, place });
  await recoverHistory(world, place);
  const payee = checksummed(sellerOne.address);
  const is = { status: 409, body: { reason: 'listing_lost', do_not_pay_again: true, retry: 'never' } };
  const claim = { intent_id: '0'.repeat(32), tx_hash: `0x${'1'.repeat(64)}`, payer_signature: `0x${'2'.repeat(130)}` };
  const ask = async (id: number): Promise<Answer[]> => [
    await world.buy(BigInt(id)),
    await world.buy(BigInt(id), { key: buyer.key, proof: proof.v2 }),
    await world.buy(BigInt(id), { body: { collect: true } }),
    await world.buy(BigInt(id), { headers: { 'x-delivery-token': 'A'.repeat(43) } }),
    await world.ask('POST', `/api/purchase-intent/${id}`, { key: buyer.key, body: {} }),
    await world.ask('POST', `/api/claim/${id}`, { key: buyer.key, body: claim }),
  ];
  for (const answer of await ask(lost)) expect(answer).toMatchObject({ ...is, body: { ...is.body, payee } });
  // Within the margin, an id may have been shown, but its payer is unknown.
  for (const answer of await ask(lost + 7)) {
    expect(answer).toMatchObject(is);
    expect(answer.body).not.toHaveProperty('payee');
  }
  expect(await world.buy(1_000_000n)).toMatchObject({ status: 404, body: { reason: 'listing_unavailable' } });
  expect((await world.ask('GET', `/api/listing/${lost}`)).status).toBe(404);
  expect((await world.buy(BigInt(kept))).status).toBe(402);
  // A plain transfer to the seller after the window is not a lost payment.
  const late = await wallet();
  await transfer(world, late, sellerOne.address, PRICE);
  isOpened(await send(kept, await sign(kept, late)));
});
