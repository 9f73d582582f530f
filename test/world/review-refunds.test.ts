import { encodeFunctionData } from 'viem';
import { expect, it } from 'vitest';
import { USDC_ADDRESS, usdcWriteAbi, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { send, submit, waitForReceipt } from '../../src/local/chain/transactions.ts';
import { addressTopic, TRANSFER_TOPIC } from '../../src/platform/chain/usdc.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { usdcAdmin } from '../support/chain.ts';
import { claim, openIntent, signChallenge, transfer } from '../support/direct.ts';
import { BASE_URL, signProof } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';
import { PRICE } from '../support/trade.ts';
import { transferTogether } from './batch-transaction.ts';
import { begin, claimCases, type Reviewed } from './review-cases.ts';
import { reviewStage, statusAndReason } from './review-stage.ts';

const { sellerOne, sellerTwo, stranger } = WORLD_ACCOUNTS;
const stage = await reviewStage();
const PAID = PRICE - 1n;

const inReview = (): Promise<Reviewed> => claimCases.amount_too_little(stage);
const refund = (made: Reviewed, txHash: string) =>
  stage.decide(stage.seller, made.id, { outcome: 'refunded', tx_hash: txHash });
const refused = async (made: Reviewed, txHash: string): Promise<unknown[]> =>
  statusAndReason(await refund(made, txHash));

/** Emits an event like Transfer from a contract that is not the token. */
async function emitTransfer(from: Hex, to: Hex, units: bigint): Promise<Hex> {
  const push = (word: string): string => `7f${word}`;
  const data = push(units.toString(16).padStart(64, '0'));
  const topics = [addressTopic(to), addressTopic(from), TRANSFER_TOPIC].map((topic) => push(topic.slice(2))).join('');
  const { status, transactionHash } = await send(stage.world.chain, stranger, {
    data: `0x${data}600052${topics}60206000a300`,
  });
  expect(status).toBe('success');
  return transactionHash;
}

it('is taken once it is final, whole, and of the payee to the payer; until then nothing changes', async () => {
  const { world } = stage;
  const made = await inReview();
  const { payer } = made;
  const wrong: [string, Hex][] = [
    ['to another wallet', await transfer(world, sellerOne, stranger.address, PAID)],
    ['from another wallet', await transfer(world, sellerTwo, payer.address, PAID)],
    ['too little', await transfer(world, sellerOne, payer.address, PAID - 1n)],
    ['of another token', await emitTransfer(sellerOne.address, payer.address, PAID)],
    [
      'in two parts',
      await transferTogether(world, sellerOne, [
        { to: payer.address, units: PAID - 1n },
        { to: payer.address, units: 1n },
      ]),
    ],
    ['more than there is', await transfer(world, sellerOne, payer.address, 10n ** 15n)],
  ];
  const good = await transferTogether(world, sellerOne, [
    { to: stranger.address, units: 5n },
    { to: payer.address, units: PAID },
  ]);
  expect(await refused(made, good)).toEqual([409, 'refund_not_final']);
  expect(await refused(made, `0x${'ab'.repeat(32)}`)).toEqual([409, 'refund_not_final']);
  await stage.finalize();
  for (const [what, txHash] of wrong) {
    expect([what, ...(await refused(made, txHash))]).toEqual([what, 422, 'refund_not_found']);
  }
  stage.cutChain(true);
  const unread = await refund(made, good);
  stage.cutChain(false);
  expect(statusAndReason(unread)).toEqual([503, 'payment_preserved']);
  expect(statusAndReason(await made.again())).toEqual([422, 'amount_too_little']);
  const spelled = good.toUpperCase().replace('0X', '0x');
  expect((await refund(made, spelled)).body['payment']).toMatchObject({
    payment_status: 'rejected',
    outcome: 'refunded',
  });
  const shown = await world.ask('GET', `/api/payment?tx_hash=${good}`);
  expect(shown.body['payment']).toMatchObject({ id: made.id, payment_status: 'rejected', outcome: 'refunded' });
});

it('lies in a later block than the payment', async () => {
  const { world } = stage;
  const begun = await begin(stage);
  const early = await transfer(world, sellerOne, begun.payer.address, PAID);
  const data = (to: Hex) => encodeFunctionData({ abi: usdcWriteAbi, functionName: 'transfer', args: [to, PAID] });
  await world.chain.rpc.call('evm_setAutomine', [false]);
  const paid = await submit(world.chain, begun.payer, { to: USDC_ADDRESS, data: data(sellerOne.address) });
  const other = await submit(world.chain, sellerOne, { to: USDC_ADDRESS, data: data(begun.payer.address) });
  await world.chain.mine();
  await world.chain.rpc.call('evm_setAutomine', [true]);
  const blocks = await Promise.all([paid, other].map((hash) => waitForReceipt(world.chain, hash)));
  expect(blocks[0]?.blockNumber).toBe(blocks[1]?.blockNumber);
  await stage.finalize();
  const { intent, signature, goods, buyer } = begun;
  const review = await claim(world, buyer, goods.id, { intent, signature, txHash: paid });
  const made = { id: (review.body['payment'] as { id: number }).id } as Reviewed;
  expect(await refused(made, early)).toEqual([422, 'refund_not_found']);
  expect(await refused(made, other)).toEqual([422, 'refund_not_found']);
  expect(await refused(made, paid)).toEqual([409, 'transaction_used']);
  expect((await refund(made, await stage.payBack(begun.payer, PAID))).status).toBe(200);
});

it('of two payments in review at once is that of one, and serves no other afterwards', async () => {
  const one = await inReview();
  const { payer } = one;
  const begun = { ...(await begin(stage)), payer };
  const signature = await signChallenge(payer, begun.intent);
  const txHash = await transfer(stage.world, payer, sellerOne.address, PAID);
  const back = await stage.payBack(payer, PAID);
  const review = await claim(stage.world, begun.buyer, begun.goods.id, { intent: begun.intent, signature, txHash });
  const other = { ...one, id: (review.body['payment'] as { id: number }).id };
  const answers = await Promise.all([one, other, one, other].map((made) => refund(made, back)));
  expect(answers.map(statusAndReason).sort()).toEqual([
    [200, 'ok'],
    [409, answers.some(({ body }) => body['reason'] === 'already_decided') ? 'already_decided' : 'transaction_used'],
    [409, 'transaction_used'],
    [409, 'transaction_used'],
  ]);
  const left = answers[0]?.status === 200 || answers[2]?.status === 200 ? other : one;
  expect(await refused(left, back)).toEqual([409, 'transaction_used']);
  expect((await refund(left, await stage.payBack(payer, PAID))).status).toBe(200);
});

/** Lists goods that belong to the buyer and are paid to its own wallet, so that the seller can be a buyer there. */
async function goodsOf(made: Reviewed) {
  const { database } = stage.world.db;
  const { id } = await seedListing(database, made.buyer.id, { wallet: made.payer.address, priceUnits: PAID });
  await stage.world.running.eventsSettled();
  return id;
}

it('buys nothing else, and what has bought something else is none', async () => {
  const { world, seller } = stage;
  const made = await inReview();
  const id = await goodsOf(made);
  const intent = await openIntent(world, seller, id);
  const signature = await signChallenge(sellerOne, intent);
  const back = await stage.payBack(made.payer, PAID);
  expect((await refund(made, back)).status).toBe(200);
  const late = await claim(world, seller, id, { intent, signature, txHash: back });
  expect([...statusAndReason(late), late.body['do_not_pay_again']]).toEqual([409, 'transaction_used', true]);
  const bought = await stage.payBack(made.payer, PAID);
  expect((await claim(world, seller, id, { intent, signature, txHash: bought })).status).toBe(200);
  const next = await inReview();
  const own = { ...next, payer: made.payer };
  expect(await refused(own, bought)).toEqual([409, 'transaction_used']);
  expect(await refused(own, back)).toEqual([409, 'transaction_used']);
});

it('claimed as a purchase at the same time serves one of the two', async () => {
  const { world, seller } = stage;
  const made = await inReview();
  const id = await goodsOf(made);
  const intent = await openIntent(world, seller, id);
  const signature = await signChallenge(sellerOne, intent);
  const txHash = await stage.payBack(made.payer, PAID);
  const both = await Promise.all([refund(made, txHash), claim(world, seller, id, { intent, signature, txHash })]);
  expect(both.map(statusAndReason).sort()).toEqual([
    [200, 'ok'],
    [409, 'transaction_used'],
  ]);
});

it('is never an authorization that was signed for a payment here, though that is undecided', async () => {
  const { world, seller } = stage;
  const made = await inReview();
  const id = await goodsOf(made);
  stage.facilitator.script({ verify: 'valid', settle: 'garbage' });
  const terms = {
    payTo: made.payer.address,
    units: PAID,
    resource: `${BASE_URL}/api/buy/${id}`,
    now: stage.time.clock.now(),
  };
  const proof = await signProof(world.chain, sellerOne, terms);
  expect((await world.buy(id, { key: seller.key, proof: proof.v2 })).status).toBe(503);
  const admin = usdcAdmin(world.chain);
  const settled = await admin.settleAuthorization(stranger, proof.authorization, proof.signature);
  await stage.finalize();
  expect(await refused(made, settled.transactionHash)).toEqual([409, 'transaction_used']);
  expect((await world.buy(id, { key: seller.key })).status).toBe(200);
  expect(await refused(made, settled.transactionHash)).toEqual([409, 'transaction_used']);
});

it('is named with refunded, and with nothing else', async () => {
  const made = await inReview();
  const txHash = `0x${'12'.repeat(32)}`;
  const bodies = [
    { outcome: 'refunded' },
    { outcome: 'refunded', tx_hash: '0x12' },
    { outcome: 'deliver', tx_hash: txHash },
    { outcome: 'declined', tx_hash: txHash },
    { outcome: 'rejected' },
    { outcome: 'declined', note: 'n'.repeat(501) },
    { outcome: 'declined', more: 1 },
    {},
  ];
  for (const body of bodies) expect((await stage.decide(stage.seller, made.id, body)).status).toBe(400);
  expect((await stage.decide(stage.seller, made.id, { outcome: 'declined', note: 'paid\ntoo little' })).status).toBe(
    200,
  );
});

it('of decisions that come at once one counts, and is told once', async () => {
  const made = await inReview();
  const outcomes = ['deliver', 'declined', 'deliver', 'declined', 'deliver', 'declined', 'deliver', 'declined'];
  const answers = await Promise.all(outcomes.map((outcome) => stage.decide(stage.seller, made.id, { outcome })));
  expect(answers.map(statusAndReason).sort()).toEqual([[200, 'ok'], ...Array(7).fill([409, 'already_decided'])]);
  const won = outcomes[answers.findIndex(({ status }) => status === 200)];
  const events = (await stage.newestEvents(20)).filter(
    ({ detail }) => (detail as Record<string, unknown>)['payment_id'] === made.id,
  );
  expect(events.map(({ kind }) => kind)).toEqual(won === 'deliver' ? ['review', 'sale'] : ['review']);
  expect(events[0]).toMatchObject({ detail: { outcome: won } });
});
