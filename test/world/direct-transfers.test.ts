import sql from 'sql-template-tag';
import { encodeFunctionData, getContractAddress, parseAbi } from 'viem';
import { describe, expect, it } from 'vitest';
import { type TestAccount, USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { submit, waitForReceipt } from '../../src/local/chain/transactions.ts';
import { type Hex, toBytes } from '../../src/platform/hex.ts';
import { settleData, usdcAdmin } from '../support/chain.ts';
import {
  claim,
  createWorldTime,
  nextBlockAt,
  openIntent,
  payDirectly,
  secondOf,
  signChallenge,
  statusBy,
  transfer,
} from '../support/direct.ts';
import { type Answer, signProof } from '../support/market-world.ts';
import { GAS_WEI, PRICE, testTrade } from '../support/trade.ts';
import { sendBatch } from './batch-transaction.ts';

const time = createWorldTime();
const trade = testTrade({ clock: time.clock, chain: { finalityBlocks: 4 } });
const { world, buyer, seller } = trade;
const { stranger, sellerTwo } = WORLD_ACCOUNTS;
const abi = parseAbi([
  'function approve(address spender, uint256 value)',
  'function transferFrom(address from, address to, uint256 value)',
]);

type Case = Awaited<ReturnType<typeof openCase>>;

/** Opens an intent and signs its challenge as the payer. */
async function openCase(units = 4n * PRICE) {
  const listing = await trade.goods();
  const payer = await trade.wallet(units, GAS_WEI);
  const intent = await openIntent(world, buyer, listing.id);
  return { ...listing, payer, intent, signature: await signChallenge(payer, intent) };
}

const claimed = (given: Case, txHash: Hex): Promise<Answer> => claim(world, buyer, given.id, { ...given, txHash });

async function sendCall(from: TestAccount, to: Hex, data: Hex): Promise<Hex> {
  return (await waitForReceipt(world.chain, await submit(world.chain, from, { to, data }))).transactionHash;
}

/** Expects a review. The money arrived but does not fit, so a person decides, and the goods are not delivered. */
function expectReview(answer: Answer, reason: string, given: { artifact: string }): { id: number } {
  expect(answer).toMatchObject({
    status: 422,
    body: { reason, payment_status: 'needs_review', do_not_pay_again: true, retry: 'never' },
  });
  expect(JSON.stringify(answer.body)).not.toContain(given.artifact);
  const payment = answer.body['payment'] as { id: number };
  expect(payment).toMatchObject({ payment_status: 'needs_review', outcome: reason, do_not_pay_again: true });
  return payment;
}

describe('the block of the transfer lies in [created_at, expires_at)', () => {
  it.each<[string, number, number | null]>([
    ['the last second', 599, 200],
    ['exactly expires_at', 600, null],
    ['a second later', 601, null],
  ])('%s', async (_what, second, status) => {
    const given = await openCase();
    await nextBlockAt(world, secondOf(given.intent.created_at) + second);
    const txHash = await transfer(world, given.payer, given.intent.seller_wallet, PRICE);
    await time.moveOn(world, 100);
    await world.finalize();
    const answer = await claimed(given, txHash);
    if (status === null) expectReview(answer, 'outside_window', given);
    else expect(answer).toMatchObject({ status, body: { artifact: given.artifact } });
  });

  it.each<[string, number, number | null]>([
    ['exactly created_at', 0, 200],
    ['one second before', 1, null],
  ])('%s', async (_what, secondsBefore, status) => {
    const { id, artifact, terms } = await trade.goods();
    const payer = await trade.wallet(PRICE, GAS_WEI);
    const second = await time.moveOn(world, 5);
    await nextBlockAt(world, second);
    const txHash = await transfer(world, payer, terms.payTo, PRICE);
    await time.moveTo(world, second + secondsBefore);
    const answer = await world.ask('POST', `/api/purchase-intent/${id}`, { key: buyer.key, body: {} });
    const intent = answer.body['purchase_intent'] as Case['intent'];
    expect(secondOf(intent.created_at)).toBe(second + secondsBefore);
    const signature = await signChallenge(payer, intent);
    await world.finalize();
    const given = { id, artifact, terms, payer, intent, signature };
    const claimedNow = await claimed(given, txHash);
    if (status === null) expectReview(claimedNow, 'outside_window', given);
    else expect(claimedNow.status).toBe(status);
  });

  it('and the claim may come long after it', async () => {
    const given = await openCase();
    const txHash = await transfer(world, given.payer, given.intent.seller_wallet, PRICE);
    await time.moveOn(world, 90_000);
    await world.finalize();
    expect(await claimed(given, txHash)).toMatchObject({ status: 200, body: { artifact: given.artifact } });
  });
});

describe('what was transferred', () => {
  it('one unit too little is reviewed; the same intent is not claimed twice, nor another opened, meanwhile', async () => {
    const given = await openCase();
    const txHash = await transfer(world, given.payer, given.intent.seller_wallet, PRICE - 1n);
    await world.finalize();
    const { id: reviewed } = expectReview(await claimed(given, txHash), 'amount_too_little', given);
    // Claiming again, even with another transaction that would fit, changes nothing, because the seller decides first.
    const rest = await transfer(world, given.payer, given.intent.seller_wallet, PRICE);
    await world.finalize();
    expect(expectReview(await claimed(given, txHash), 'amount_too_little', given).id).toBe(reviewed);
    expect(expectReview(await claimed(given, rest), 'amount_too_little', given).id).toBe(reviewed);
    expect(await world.buy(given.id, { key: buyer.key })).toMatchObject({
      status: 422,
      body: { reason: 'needs_review', do_not_pay_again: true },
    });
    const declined = await world.ask('POST', `/api/review/${reviewed}`, {
      key: seller.key,
      body: { outcome: 'declined' },
    });
    expect(declined.status).toBe(200);
    expect(await statusBy(world, { intent_id: given.intent.id })).toMatchObject({
      payment_status: 'rejected',
      outcome: 'declined',
      do_not_pay_again: false,
    });
    // The review has used up its transaction, but the other transaction is free and pays.
    expect(await claimed(given, txHash)).toMatchObject({ status: 409, body: { reason: 'transaction_used' } });
    expect(await claimed(given, rest)).toMatchObject({ status: 200, body: { artifact: given.artifact } });
  });

  it('parts are not added up, not even within one transaction; but one log that is enough suffices, tips included', async () => {
    const [inParts, whole, elsewhere] = [await openCase(), await openCase(8n * PRICE), await openCase()];
    const to = inParts.intent.seller_wallet;
    const parts = await transferTogether(inParts.payer, [
      { to, units: PRICE - 1n },
      { to, units: PRICE - 1n },
      { to, units: 1n },
    ]);
    const oneOfThree = await transferTogether(whole.payer, [
      { to, units: 1n },
      { to: stranger.address, units: 3n * PRICE },
      { to, units: PRICE + 5n },
    ]);
    const toOthers = await transferTogether(elsewhere.payer, [
      { to: stranger.address, units: PRICE },
      { to, units: 0n },
    ]);
    await world.finalize();
    const review = await claimed(inParts, parts);
    expectReview(review, 'amount_too_little', inParts);
    expect(await claimed(whole, oneOfThree)).toMatchObject({
      status: 200,
      body: { artifact: whole.artifact, receipt: { amount_units: (PRICE + 5n).toString() } },
    });
    expect(await claimed(elsewhere, toOthers)).toMatchObject({
      status: 422,
      body: { reason: 'transfer_not_found', do_not_pay_again: false },
    });
  });

  it.each<[string, (given: Case) => Promise<Hex>, string]>([
    ['to another payee', ({ payer }) => transfer(world, payer, sellerTwo.address, PRICE), 'transfer_not_found'],
    ['of nothing', ({ payer, intent }) => transfer(world, payer, intent.seller_wallet, 0n), 'transfer_not_found'],
    [
      'more than the wallet holds, which reverts',
      ({ payer, intent }) => transfer(world, payer, intent.seller_wallet, 1_000n * PRICE),
      'transfer_not_found',
    ],
    ['from another wallet', ({ intent }) => transfer(world, stranger, intent.seller_wallet, PRICE), 'wrong_payer'],
    [
      'from another wallet, too little',
      ({ intent }) => transfer(world, stranger, intent.seller_wallet, PRICE - 1n),
      'transfer_not_found',
    ],
    ['of another token', ({ payer, intent }) => otherToken(payer, intent.seller_wallet), 'transfer_not_found'],
    ['which is a mint', ({ intent }) => mintTo(intent.seller_wallet), 'wrong_payer'],
  ])('%s consumes nothing, and the right transfer is taken afterwards', async (_what, pay, reason) => {
    const given = await openCase();
    const wrong = await pay(given);
    expect((await claimed(given, wrong)).status).toBe(202);
    await world.finalize();
    const refused = await claimed(given, wrong);
    expect(refused).toMatchObject({ status: 422, body: { reason, retry: 'after_fix' } });
    expect(await claimed(given, wrong)).toMatchObject({ status: 422, body: { reason } });
    expect(await statusBy(world, { tx_hash: wrong })).toMatchObject({ status: 404 });
    expect(await statusBy(world, { intent_id: given.intent.id })).toMatchObject({ payment_status: 'unpaid' });
    const txHash = await transfer(world, given.payer, given.intent.seller_wallet, PRICE);
    await world.finalize();
    expect(await claimed(given, txHash)).toMatchObject({ status: 200, body: { artifact: given.artifact } });
  });
});

/** Makes plain transfers of one wallet, after some other token calls, in one transaction. */
async function transferTogether(
  from: TestAccount,
  transfers: readonly { to: string; units: bigint }[],
  before: readonly Hex[] = [],
): Promise<Hex> {
  const count = await world.chain.rpc.call('eth_getTransactionCount', [from.address, 'latest']);
  const spender = getContractAddress({ from: from.address, nonce: BigInt(Number(count)) + 1n });
  const total = transfers.reduce((sum, { units }) => sum + units, 0n);
  await sendCall(from, USDC_ADDRESS, encodeFunctionData({ abi, functionName: 'approve', args: [spender, total] }));
  const calls = transfers.map(({ to, units }) =>
    encodeFunctionData({ abi, functionName: 'transferFrom', args: [from.address, to.toLowerCase() as Hex, units] }),
  );
  return await sendBatch(world, from, [...before, ...calls]);
}

/** Emits the token's Transfer event from a contract that is not the token. */
async function otherToken(payer: TestAccount, to: string): Promise<Hex> {
  const address = `0x${'be'.repeat(20)}`;
  // log3(memory 0..32, topic, from, to): three words of the call data are the topics, and the fourth is the logged amount.
  await world.chain.rpc.call('anvil_setCode', [address, '0x60603560005260403560203560003560206000a300']);
  const topic = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
  const word = (value: string): string => value.toLowerCase().replace('0x', '').padStart(64, '0');
  const data: Hex = `0x${topic}${word(payer.address)}${word(to)}${word(PRICE.toString(16))}`;
  return await sendCall(payer, address as Hex, data);
}

async function mintTo(to: string): Promise<Hex> {
  return (await usdcAdmin(world.chain).mint(to.toLowerCase() as Hex, PRICE)).transactionHash;
}

describe('a transfer through an authorization', () => {
  it('of no payment here is reviewed, for any sender', async () => {
    const given = await openCase();
    const { authorization, signature } = await signProof(world.chain, given.payer, given.terms);
    const { transactionHash } = await usdcAdmin(world.chain).settleAuthorization(stranger, authorization, signature);
    await world.finalize();
    expectReview(await claimed(given, transactionHash), 'authorized_transfer', given);
  });

  it('of a payment here belongs to that, and is no review: whatever became of it', async () => {
    const other = await world.join('buyer-by-x402');
    const given = await openCase();
    const bought = await trade.goods();
    const proof = await signProof(world.chain, given.payer, bought.terms);
    expect((await world.buy(bought.id, { key: other.key, proof: proof.v2 })).status).toBe(202);
    const txHash = (await trade.statusOf(proof))['tx_hash'] as Hex;
    expect((await claimed(given, txHash)).status).toBe(202);
    await world.finalize();
    const used = { status: 409, body: { reason: 'transaction_used', do_not_pay_again: true, retry: 'never' } };
    expect(await claimed(given, txHash)).toMatchObject(used);
    expect(await world.buy(bought.id, { key: other.key })).toMatchObject({ status: 200 });
    expect(await claimed(given, txHash)).toMatchObject(used);
    expect(await statusBy(world, { intent_id: given.intent.id })).toMatchObject({
      payment_status: 'unpaid',
      outcome: 'transaction_used',
    });
  });

  it('next to a plain one that fits, in one transaction, is reviewed all the same', async () => {
    const given = await openCase();
    const { payer, intent } = given;
    const { authorization, signature } = await signProof(world.chain, payer, given.terms);
    const txHash = await transferTogether(
      payer,
      [{ to: intent.seller_wallet, units: PRICE }],
      [settleData(authorization, signature)],
    );
    await world.finalize();
    expectReview(await claimed(given, txHash), 'authorized_transfer', given);
  });
});

describe('a transfer is found again wherever it stands', () => {
  it('one transaction in two spellings is one', async () => {
    const given = await openCase();
    const paid = await payDirectly(world, { buyer, listingId: given.id, payer: given.payer, units: PRICE });
    const upper = `0x${paid.txHash.slice(2).toUpperCase()}` as Hex;
    expect((await claim(world, buyer, given.id, { ...paid, txHash: upper })).status).toBe(202);
    expect((await claim(world, buyer, given.id, paid)).status).toBe(202);
    const named = await world.db.database.rows(sql`select from claim_hashes where tx_hash = ${toBytes(paid.txHash)}`);
    expect(named).toHaveLength(1);
    await world.finalize();
    expect((await claim(world, buyer, given.id, { ...paid, txHash: upper })).status).toBe(200);
    const byHash = await statusBy(world, { tx_hash: upper });
    expect(byHash).toEqual(await statusBy(world, { intent_id: paid.intent.id }));
    expect(byHash).toMatchObject({ payment_status: 'completed', tx_hash: paid.txHash });
  });
});
