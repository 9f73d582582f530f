import { afterEach, beforeEach, expect, test } from 'vitest';
import { LISTING_FEE_UNITS } from '../../src/contract/vocabulary.ts';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund, transferWallet } from '../../src/local/chain/transactions.ts';
import type { Hex } from '../../src/platform/hex.ts';
import type { LogCopyPlace } from '../../src/platform/log-copy/place.ts';
import { createClient } from '../../src/sdk/client.ts';
import { buy } from '../../src/sdk/payments/buy.ts';
import { buyByTransfer } from '../../src/sdk/payments/direct/buy-by-transfer.ts';
import { listByTransfer } from '../../src/sdk/payments/direct/list-by-transfer.ts';
import { createMemoryTransferStore } from '../../src/sdk/payments/direct/transfer-store.ts';
import { listGoods } from '../../src/sdk/payments/list-goods.ts';
import type { Wallet } from '../../src/sdk/payments/payment-proof.ts';
import { createMemoryProofStore } from '../../src/sdk/payments/proof-store.ts';
import { type HistoryWorld, loseTo, openHistoryWorld, recoverHistory } from '../support/history-world.ts';
import { BASE_URL, type Member, paidUnits, type World } from '../support/market-world.ts';
import { listPaid, newGoods } from '../support/trade.ts';

// Our own clients keep the recovery slips, so calling again restores goods and listings without a second payment.

const { sellerOne, treasury } = WORLD_ACCOUNTS;
const PRICE = 2_500_000n;
const WEI = 10n ** 18n;
/** Ends the call while the payment is pending, as if its process had been killed. */
const CUT_OFF = { maxWaitSeconds: 0 };
const UNDECIDED = { doNotPayAgain: true, name: expect.stringMatching(/Undecided$/) };

let history: HistoryWorld;
let world: World;
let place: LogCopyPlace;
let seller: Member;
let buyer: Member;

beforeEach(async () => {
  history = await openHistoryWorld();
  place = await history.newHost();
  world = await history.startMarket({ logCopy: place });
  await world.join('the-keeper');
  seller = await world.join('seller-one');
  buyer = await world.join('buyer-one');
});
afterEach(() => history.stop());

let wallets = 0;
async function payerWallet(): Promise<{ account: TestAccount; wallet: Wallet; signed: bigint[] }> {
  wallets += 1;
  const account = testAccount(`payer ${wallets} of our own client`);
  await fund(world.chain, [{ address: account.address, usdcUnits: 100_000_000n, wei: WEI }]);
  const signed: bigint[] = [];
  const signTypedData: Wallet['signTypedData'] = (typed) => {
    signed.push(typed.message.value);
    return account.signer.signTypedData(typed);
  };
  return { account, wallet: { address: account.address, signTypedData }, signed };
}

async function list(): Promise<number> {
  const { body } = await listPaid(world, seller, newGoods(), (await payerWallet()).account);
  return (body['listing'] as { id: number }).id;
}

/** Creates a client whose waits mine blocks, so that finality takes no real time. Each client starts without memory, like a new process. */
function newClient(member?: Member) {
  const key = member === undefined ? {} : { key: member.key };
  const named = { baseUrl: world.url, callsItself: BASE_URL };
  return createClient({ ...named, environment: { sleep: () => world.finalize() }, ...key });
}

const paid = (by: TestAccount, to: Hex = sellerOne.address): Promise<bigint[]> =>
  paidUnits(world.chain, by.address, to);

async function loseAndRecover(backup: Parameters<typeof loseTo>[0]): Promise<void> {
  await world.finalize();
  await loseTo(backup, { history, world, place });
  await recoverHistory(world, place);
}

test('who buys by x402 and calls again has the goods after the market has lost and recovered its books', async () => {
  const [one, two, three, four] = [await list(), await list(), await list(), await list()];
  const backup = await history.primary.copyWhileRunning();
  // The client is interrupted while the payment is pending, with and without a key.
  const [bare, keyed, done] = [await payerWallet(), await payerWallet(), await payerWallet()];
  const proofStore = createMemoryProofStore();
  const order = { maxPriceUsdc: 3, proofStore };
  const byToken = { ...order, listingId: one, wallet: bare.wallet };
  const byKey = { ...order, listingId: two, wallet: keyed.wallet };
  await expect(buy({ ...byToken, ...CUT_OFF, client: newClient() })).rejects.toMatchObject(UNDECIDED);
  await expect(buy({ ...byKey, ...CUT_OFF, client: newClient(buyer) })).rejects.toMatchObject(UNDECIDED);
  // The goods are bought and read. The client then forgets all but the delivery and its slip.
  const own = { ...order, listingId: four, wallet: keyed.wallet };
  const ownSlip = (await buy({ ...own, client: newClient(buyer) })).recovery_slip as string;
  const finished = { ...order, listingId: three, wallet: done.wallet };
  const bought = await buy({ ...finished, client: newClient() });
  const recoverySlip = String(bought.recovery_slip);
  await loseAndRecover(backup);

  expect(await buy({ ...byToken, client: newClient() })).toMatchObject({ listing_id: one, collected_by: 'token' });
  expect(await buy({ ...byKey, client: newClient(buyer) })).toMatchObject({ listing_id: two, collected_by: 'key' });
  const kept = await buy({ ...own, client: newClient(buyer), recoverySlip: ownSlip });
  expect(kept).toMatchObject({ listing_id: four, collected_by: 'key' });
  const again = await buy({ ...finished, client: newClient(), recoverySlip });
  expect(again).toMatchObject({ artifact: bought.artifact, collected_by: 'signature' });
  // Each thing has one payment. A buyer with neither key nor token signs for 0 USDC to collect.
  expect([bare.signed, keyed.signed, done.signed]).toEqual([
    [0n, PRICE],
    [0n, PRICE, 0n, PRICE],
    [0n, PRICE, 0n],
  ]);
  for (const { account } of [bare, done]) expect(await paid(account)).toEqual([PRICE]);
  expect(await paid(keyed.account)).toEqual([PRICE, PRICE]);
  // Collecting by slip never pays, so a wallet that has bought nothing signs only for 0 USDC.
  const other = await payerWallet();
  const elsewhere = { ...finished, wallet: other.wallet, client: newClient(), recoverySlip, mayPayAgain: true };
  await expect(buy(elsewhere)).rejects.toMatchObject({ reason: 'nothing_to_collect' });
  expect(other.signed).toEqual([0n]);
});

test('a fee that was paid and lost pays for the listing when it is called again', async () => {
  const backup = await history.primary.copyWhileRunning();
  const [cut, done] = [await payerWallet(), await payerWallet()];
  const proofStore = createMemoryProofStore();
  const begun = { listing: newGoods() as never, wallet: cut.wallet, proofStore };
  await expect(listGoods({ ...begun, ...CUT_OFF, client: newClient(seller) })).rejects.toMatchObject(UNDECIDED);
  const finished = { listing: newGoods() as never, wallet: done.wallet, proofStore };
  const listed = await listGoods({ ...finished, client: newClient(seller) });
  const recoverySlip = String(listed.recovery_slip);
  await loseAndRecover(backup);

  expect((await listGoods({ ...begun, client: newClient(seller) })).listing_id).toBeGreaterThan(listed.listing_id);
  const again = await listGoods({ ...finished, client: newClient(seller), recoverySlip });
  expect(again.listing).toMatchObject({ title: (finished.listing as { title: string }).title });
  expect([cut.signed, done.signed]).toEqual([[LISTING_FEE_UNITS], [LISTING_FEE_UNITS]]);
  for (const { account } of [cut, done]) expect(await paid(account, treasury.address)).toEqual([LISTING_FEE_UNITS]);
});

test('who pays by a transfer and calls again has goods and listing by the slip of the intent', async () => {
  const [one, two] = [await list(), await list()];
  const backup = await history.primary.copyWhileRunning();
  const [cut, done, fee] = [await payerWallet(), await payerWallet(), await payerWallet()];
  const store = createMemoryTransferStore();
  const direct = ({ account }: { account: TestAccount }) => ({ store, wallet: transferWallet(world.chain, account) });
  const begun = { ...direct(cut), listingId: one, maxPriceUsdc: 3 };
  const finished = { ...direct(done), listingId: two, maxPriceUsdc: 3 };
  const listing = { ...direct(fee), listing: newGoods() as never };
  await world.chain.mine();
  await expect(buyByTransfer({ ...begun, ...CUT_OFF, client: newClient(buyer) })).rejects.toMatchObject(UNDECIDED);
  const bought = await buyByTransfer({ ...finished, client: newClient(buyer) });
  await world.chain.mine();
  await expect(listByTransfer({ ...listing, ...CUT_OFF, client: newClient(seller) })).rejects.toMatchObject(UNDECIDED);
  await loseAndRecover(backup);

  expect(await buyByTransfer({ ...begun, client: newClient(buyer) })).toMatchObject({ listing_id: one });
  const again = await buyByTransfer({ ...finished, client: newClient(buyer) });
  expect(again.artifact).toBe(bought.artifact);
  const listed = await listByTransfer({ ...listing, client: newClient(seller) });
  expect(listed.listing).toMatchObject({ title: (listing.listing as { title: string }).title });
  for (const { account } of [cut, done]) expect(await paid(account)).toEqual([PRICE]);
  expect(await paid(fee.account, treasury.address)).toEqual([LISTING_FEE_UNITS]);
});
