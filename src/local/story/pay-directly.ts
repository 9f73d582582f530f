import { LISTING_FEE_TEXT } from '../../contract/money.ts';
import { LISTING_FEE_UNITS, type PaymentPurpose } from '../../contract/vocabulary.ts';
import { MarketError } from '../../sdk/errors.ts';
import { buyByTransfer } from '../../sdk/payments/direct/buy-by-transfer.ts';
import { listByTransfer } from '../../sdk/payments/direct/list-by-transfer.ts';
import type { TransferWallet } from '../../sdk/payments/direct/transfer-options.ts';
import { createMemoryTransferStore, type TransferStore } from '../../sdk/payments/direct/transfer-store.ts';
import { type TestAccount, WORLD_ACCOUNTS } from '../chain/accounts.ts';
import { fund, transferWallet } from '../chain/transactions.ts';
import type { Exchange } from '../observe.ts';
import { MAINTAINER } from '../world.ts';
import {
  BUYER,
  balanceOf,
  check,
  explain,
  type Goods,
  need,
  observedClient,
  type Scene,
  SELLER,
  type Step,
  unitsOf,
} from './scene.ts';

const PRICE_USDC = 1.5;
const TIP_USDC = 0.25;
const GAS_WEI = 10n ** 18n;
const { buyerOne, buyerThree, sellerOne, treasury } = WORLD_ACCOUNTS;

export const payDirectlyStep: Step = {
  name: 'pay-directly',
  title: `${SELLER} and ${BUYER} pay by plain transfers: a listing fee, and goods with a tip`,
  run: async (scene) => {
    // Plain transfers cost the sender gas, which the facilitator pays with x402.
    await fund(
      scene.world.chain,
      [sellerOne, buyerOne].map(({ address }) => ({ address, wei: GAS_WEI })),
    );
    const { goods, fee } = await listDirectly(scene);
    const store = createMemoryTransferStore();
    const sale = await buyDirectly(scene, goods, store);
    await checkStatus(scene, fee, 'listing_fee');
    await checkStatus(scene, sale, 'purchase');
    await checkDeliveredAgain(scene, goods, store);
    await checkRefusedElsewhere(scene, { fee, sale });
    explain(
      scene,
      'A buyer that cannot sign x402 sends USDC from any wallet: an intent names the terms, a signed text says who pays, and the hash claims.',
    );
  },
};

async function listDirectly(scene: Scene): Promise<{ goods: Goods; fee: string }> {
  const { client, exchanges } = observedClient(scene, SELLER);
  const listing = {
    title: `Notes on plain transfers, edition ${scene.edition}`,
    description: 'How to pay from a wallet that knows nothing of x402.',
    preview: 'Two lines of text.',
    artifact: `Edition ${scene.edition}: open an intent, sign its text, send, claim. A hash pays for one thing and for no other.`,
    price_usdc: PRICE_USDC,
    seller_wallet: sellerOne.address,
    tags: ['demo', 'knowledge'],
  };
  const before = await balanceOf(scene, treasury);
  const wallet = transferWallet(scene.world.chain, sellerOne);
  const { listing_id: id, fee } = await listByTransfer({ client, wallet, listing, signal: scene.signal });
  const [dry] = exchanges.filter(({ path }) => path.startsWith('/api/listing?'));
  check(scene, dry?.status === 200, 'a dry run said that the goods would be taken, before anything was paid');
  checkIntent(scene, exchanges, { path: '/api/fee-intent', payee: treasury, units: LISTING_FEE_UNITS });
  checkWaited(scene, exchanges, { path: '/api/listing', last: 201, artifact: listing.artifact });
  const received = (await balanceOf(scene, treasury)) - before;
  const direct = fee.verified_via === 'direct' && fee.tx_hash !== null;
  check(
    scene,
    received === LISTING_FEE_UNITS && direct,
    `listing ${id} is live, and the treasury has ${LISTING_FEE_TEXT} more`,
  );
  const goods = { id, title: listing.title, artifact: listing.artifact, priceUsdc: PRICE_USDC };
  return { goods, fee: need(fee.tx_hash, "fee's transaction") };
}

/** Returns the hash of the transfer. */
async function buyDirectly(scene: Scene, goods: Goods, store: TransferStore): Promise<string> {
  const { client, exchanges } = observedClient(scene, BUYER);
  const [buyerBefore, sellerBefore] = [await balanceOf(scene, buyerOne), await balanceOf(scene, sellerOne)];
  const wallet = buyerWallet(scene);
  const delivery = await buyByTransfer({ client, wallet, store, ...orderOf(goods), signal: scene.signal });
  const [price, tip] = [unitsOf(goods.priceUsdc), unitsOf(TIP_USDC)];
  checkIntent(scene, exchanges, { path: `/api/purchase-intent/${goods.id}`, payee: sellerOne, units: price });
  checkWaited(scene, exchanges, { path: `/api/claim/${goods.id}`, last: 200, artifact: goods.artifact });
  check(scene, delivery.artifact === goods.artifact, 'the goods are what was put in, and match the commitment');
  const spent = buyerBefore - (await balanceOf(scene, buyerOne));
  const earned = (await balanceOf(scene, sellerOne)) - sellerBefore;
  const { purchase, receipt } = delivery;
  const said = purchase?.verified_via === 'direct' && unitsOf(purchase.paid_usdc) === price + tip;
  const moved = spent === price + tip && earned === price + tip && said;
  check(scene, moved, `${goods.priceUsdc} USDC and a tip of ${TIP_USDC} went from wallet to wallet, once`);
  return need(receipt, 'receipt').tx_hash;
}

function checkIntent(
  scene: Scene,
  exchanges: readonly Exchange[],
  expected: { path: string; payee: TestAccount; units: bigint },
): void {
  const opened = exchanges.filter(({ path }) => path === expected.path);
  const body = opened.at(-1)?.body ?? {};
  const intent = (body['purchase_intent'] ?? body['fee_intent'] ?? {}) as Record<string, unknown>;
  const exact =
    String(intent['seller_wallet']).toLowerCase() === expected.payee.address &&
    intent['minimum_amount_units'] === expected.units.toString();
  check(scene, opened.at(-1)?.status === 201 && exact, '201: the intent named payee and price, ten minutes long');
}

/** Checks that every claim before the last one had to wait and delivered nothing, and that the last one succeeded. */
function checkWaited(
  scene: Scene,
  exchanges: readonly Exchange[],
  expected: { path: string; last: number; artifact: string },
): void {
  const claims = exchanges.filter(({ method, path }) => method === 'POST' && path === expected.path);
  const early = claims.slice(0, -1);
  const silent = !early.some(({ text }) => text.includes(expected.artifact));
  const waited = early.some(({ status }) => status === 202) && early.every(isWaiting) && silent;
  check(scene, waited, '202: the claim waited until the transfer was final, and nothing was handed over before');
  check(scene, claims.at(-1)?.status === expected.last, `${expected.last}: then the same claim was answered`);
}

/** True while the transfer is not yet in a block, or in one that is not final. */
function isWaiting({ status, body }: Exchange): boolean {
  const { block_number: block, finalized_head: head } = (body['payment'] ?? {}) as Record<string, unknown>;
  const open = typeof block !== 'number' || (typeof head === 'number' && head < block);
  return (status === 202 || status === 503) && body['do_not_pay_again'] === true && open;
}

async function checkStatus(scene: Scene, hash: string, purpose: PaymentPurpose): Promise<void> {
  const { client } = observedClient(scene, null);
  const { body } = await client.getPayment({ query: { tx_hash: hash } });
  const { payment_status: status, stage, block_number: block, finalized_head: head } = body.payment;
  const done = body.payment.purpose === purpose && status === 'completed' && stage === 'delivered';
  const final = block !== null && head !== null && block <= head;
  check(scene, done && final, `anybody can see by its hash that the ${purpose.replace('_', ' ')} is paid, and final`);
}

async function checkDeliveredAgain(scene: Scene, goods: Goods, store: TransferStore): Promise<void> {
  const before = await balanceOf(scene, buyerOne);
  const { client, exchanges } = observedClient(scene, BUYER);
  const delivery = await buyByTransfer({ client, store, wallet: buyerWallet(scene), ...orderOf(goods) });
  const [claim, ...more] = exchanges;
  const same = claim?.path === `/api/claim/${goods.id}` && more.length === 0 && delivery.artifact === goods.artifact;
  const unpaid = (await balanceOf(scene, buyerOne)) === before;
  check(scene, same && unpaid, 'the same claim again delivers again, and nothing is paid for it');
}

function orderOf(goods: Goods) {
  return { listingId: goods.id, maxPriceUsdc: goods.priceUsdc, tipUsdc: TIP_USDC };
}

function buyerWallet(scene: Scene): TransferWallet {
  return transferWallet(scene.world.chain, buyerOne);
}

/** Claims other things with used transactions and valid intents and signatures. Each claim must be refused. */
async function checkRefusedElsewhere(scene: Scene, used: { fee: string; sale: string }): Promise<void> {
  const listed = await listWith(scene, used.fee).catch((error: unknown) => error);
  check(scene, isUsed(listed), 'the transaction of the fee pays for no other listing: 409 transaction_used');
  const bought = await buyWith(scene, used.sale).catch((error: unknown) => error);
  check(scene, isUsed(bought), 'that of the purchase buys no other goods: 409 transaction_used');
}

function isUsed(answer: unknown): boolean {
  return answer instanceof MarketError && answer.status === 409 && answer.reason === 'transaction_used';
}

async function listWith(scene: Scene, hash: string): Promise<unknown> {
  const { client } = observedClient(scene, SELLER);
  const { body } = await client.openFeeIntent();
  const { id, challenge } = body.fee_intent;
  const payer_signature = await sellerOne.signer.signMessage({ message: challenge });
  const listing = {
    title: `Goods without a paid fee, edition ${scene.edition}`,
    description: 'They are never on the shelves.',
    preview: '',
    artifact: `Edition ${scene.edition}: nothing to see.`,
    price_usdc: 1,
    seller_wallet: sellerOne.address,
  };
  return await client.createListing({
    body: { ...listing, fee_payment: { intent_id: id, tx_hash: hash, payer_signature } },
  });
}

async function buyWith(scene: Scene, hash: string): Promise<unknown> {
  const params = { id: need(scene.goods, 'goods').id };
  const { client } = observedClient(scene, MAINTAINER);
  const { body } = await client.openPurchaseIntent({ params });
  const { id, challenge } = body.purchase_intent;
  const payer_signature = await buyerThree.signer.signMessage({ message: challenge });
  return await client.claimPurchase({ params, body: { intent_id: id, tx_hash: hash, payer_signature } });
}
