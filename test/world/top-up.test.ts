import sql from 'sql-template-tag';
import { afterAll, describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { createWorldTime, openIntent, secondOf, signChallenge, statusBy, transfer } from '../support/direct.ts';
import type { Answer } from '../support/market-world.ts';
import { startRpcProxy } from '../support/rpc-proxy.ts';
import { PRICE, testTrade } from '../support/trade.ts';
import { transferTogether } from './batch-transaction.ts';
import { type DirectCase, directCases, someHash } from './direct-cases.ts';

const FINALITY_BLOCKS = 16;
const time = createWorldTime();
const proxy = await startRpcProxy();
afterAll(() => proxy.close());
const trade = testTrade({
  ...{ clock: time.clock, chain: { finalityBlocks: FINALITY_BLOCKS }, rpcUrl: (chain) => proxy.at(chain) },
});
const { world, seller } = trade;
const { begin, pay, claimWith, statusOf, countOf } = directCases(trade);

const finalize = (): Promise<void> => world.chain.mine(FINALITY_BLOCKS + 2);
const pass = (): Promise<void> => world.running.payments.reconcileOnce();
const [MOST, REST] = [PRICE - 200_000n, 200_000n];

const idOf = ({ body }: Answer): number => (body['payment'] as { id: number }).id;
const decide = (id: number, body: object): Promise<Answer> =>
  world.ask('POST', `/api/review/${id}`, { key: seller.key, body });

interface Further {
  tx_hash: Hex;
  amount_usdc: number | null;
  block_number: number | null;
  claimed: boolean;
}
interface Review {
  payment_id: number;
  listing_id: number;
  reason: string;
  received_usdc: number;
  tx_hash: Hex;
  further_transfers: Further[];
}

/** Returns the reviews as the seller sees them. */
async function reviewsOf({ id }: Pick<DirectCase, 'id'>): Promise<Review[]> {
  const { body } = await world.ask('GET', '/api/me', { key: seller.key });
  return (body['reviews'] as Review[]).filter((one) => one.listing_id === Number(id));
}
const furtherOf = async (given: DirectCase): Promise<[Hex, number | null, boolean][]> =>
  (await reviewsOf(given)).flatMap(({ further_transfers: further }) =>
    further.map((one): [Hex, number | null, boolean] => [one.tx_hash, one.amount_usdc, one.claimed]),
  );
const waitingOf = async ({ intent }: DirectCase): Promise<bigint> =>
  (
    await world.db.database.one<{ count: bigint }>(sql`select count(*) as count from claim_hashes h
      join payments p on p.id = h.payment_id where p.intent_id = ${Buffer.from(intent.id, 'hex')}
        and refused_reason = 'payment_undecided'`)
  ).count;

/**
 * Checks the answer to a further transaction. It must contain the hash of that transaction and the payment that the seller must decide
 * first.
 */
function expectKept(answer: Answer, txHash: Hex, review: { id: number; tx_hash: Hex }): void {
  expect(answer).toMatchObject({
    status: 422,
    body: {
      ...{ reason: 'amount_too_little', payment_status: 'needs_review', do_not_pay_again: true, tx_hash: txHash },
      payment: { id: review.id, payment_status: 'needs_review', tx_hash: review.tx_hash },
      detail: `Transaction ${txHash} was not looked at: the payee decides on payment ${review.id}, transaction ${review.tx_hash}, first.`,
    },
  });
}

/** Pays less than the price, so the seller must decide. */
async function tooLittle(units = MOST) {
  const given = await begin();
  const txHash = await pay(given, units);
  await finalize();
  const answer = await claimWith(given, txHash);
  expect(answer).toMatchObject({ status: 422, body: { reason: 'amount_too_little' } });
  return { given, review: { id: idOf(answer), tx_hash: txHash } };
}

/** Pays too little, then sends more. The second transfer is final and claimed. */
async function toppedUp(units = REST) {
  const { given, review } = await tooLittle();
  const more = await pay(given, units);
  await finalize();
  expectKept(await claimWith(given, more), more, review);
  return { given, review, more };
}

async function refund(given: DirectCase, id: number, units: bigint): Promise<Answer> {
  const txHash = await transfer(world, WORLD_ACCOUNTS.sellerOne, given.payer.address, units);
  await finalize();
  return await decide(id, { outcome: 'refunded', tx_hash: txHash });
}

describe('a second transfer that is claimed while the seller decides on the first', () => {
  it('is named to both sides, by its own hash, and to whoever asks for it', async () => {
    const { given, review, more } = await toppedUp();
    expect(await statusBy(world, { tx_hash: more })).toMatchObject({
      ...{ id: null, payment_status: 'payment_pending', stage: 'finalized', tx_hash: more, do_not_pay_again: true },
      ...{ listing_id: Number(given.id), waits_for: { payment_id: review.id, tx_hash: review.tx_hash } },
      next_step: expect.stringContaining(`the payee decides on payment ${review.id}`),
    });
    expect(await reviewsOf(given)).toMatchObject([
      {
        ...{ payment_id: review.id, received_usdc: 2.3, tx_hash: review.tx_hash },
        further_transfers: [{ tx_hash: more, amount_usdc: 0.2, claimed: true }],
      },
    ]);
    // The intent's payment and its claim have not changed.
    expect(await statusOf(given)).toMatchObject({ payment_status: 'needs_review', tx_hash: review.tx_hash });
    expect(await claimWith(given, review.tx_hash)).toMatchObject({ status: 422, body: { payment: { id: review.id } } });
    await pass();
    expectKept(await claimWith(given, more), more, review);
    expect(await reviewsOf(given)).toHaveLength(1);
    expect(await countOf(given.id)).toEqual({ payments: 1n, purchases: 0n });
  });

  it('is followed by itself once the seller delivers, as a payment of its own, and sells nothing twice', async () => {
    const { given, review, more } = await toppedUp();
    expect((await decide(review.id, { outcome: 'deliver' })).status).toBe(200);
    await pass();
    const [own] = await reviewsOf(given);
    expect(own).toMatchObject({ reason: 'amount_too_little', received_usdc: 0.2, tx_hash: more });
    expect(await statusBy(world, { tx_hash: more })).toMatchObject({
      ...{ id: own?.payment_id, payment_status: 'needs_review', tx_hash: more },
    });
    const claimed = await claimWith(given, more);
    expect([claimed.status, idOf(claimed)]).toEqual([422, own?.payment_id]);
    expect(await claimWith(given, review.tx_hash)).toMatchObject({ status: 200, body: { artifact: given.artifact } });
    expect((await decide(own?.payment_id ?? 0, { outcome: 'deliver' })).status).toBe(200);
    expect(await claimWith(given, more)).toMatchObject({ status: 200, body: { artifact: given.artifact } });
    expect(await countOf(given.id)).toEqual({ payments: 2n, purchases: 1n });
  });

  it('leads to its own review when it is claimed right after the delivery', async () => {
    const { given, review, more } = await toppedUp(PRICE);
    expect((await decide(review.id, { outcome: 'deliver' })).status).toBe(200);
    const claimed = await claimWith(given, more);
    expect(claimed).toMatchObject({ status: 422, body: { reason: 'already_bought', payment: { tx_hash: more } } });
    expect((await refund(given, idOf(claimed), PRICE)).status).toBe(200);
    expect(await claimWith(given, more)).toMatchObject({ status: 409, body: { reason: 'transaction_used' } });
    expect(await countOf(given.id)).toEqual({ payments: 2n, purchases: 1n });
  });

  it.each(['declined', 'refunded'])('pays by itself once the first is %s, if it is enough', async (outcome) => {
    const { given, review, more } = await toppedUp(PRICE);
    const decided = await (outcome === 'declined' ? decide(review.id, { outcome }) : refund(given, review.id, MOST));
    expect(decided.status).toBe(200);
    await pass();
    expect(await statusBy(world, { tx_hash: more })).toMatchObject({
      ...{ payment_status: 'unsubmitted', tx_hash: more, do_not_pay_again: true },
      next_step: expect.stringContaining('Claim this transaction again'),
    });
    expect(await claimWith(given, more)).toMatchObject({ status: 200, body: { artifact: given.artifact } });
    expect(await statusBy(world, { tx_hash: more })).toMatchObject({ payment_status: 'completed' });
    expect(await countOf(given.id)).toEqual({ payments: 2n, purchases: 1n });
  });

  it.each(['declined', 'refunded'])(
    'is reviewed by itself once the first is %s, if it is too little',
    async (outcome) => {
      const { given, review, more } = await toppedUp();
      const decided = await (outcome === 'declined' ? decide(review.id, { outcome }) : refund(given, review.id, MOST));
      expect(decided.status).toBe(200);
      const claimed = await claimWith(given, more);
      expect(claimed).toMatchObject({ status: 422, body: { reason: 'amount_too_little', payment: { tx_hash: more } } });
      expect(idOf(claimed)).not.toBe(review.id);
      expect(await reviewsOf(given)).toMatchObject([{ received_usdc: 0.2, tx_hash: more, further_transfers: [] }]);
      expect(await statusBy(world, { tx_hash: more })).toMatchObject({ payment_status: 'needs_review' });
      expect((await refund(given, idOf(claimed), REST)).status).toBe(200);
      expect(await countOf(given.id)).toEqual({ payments: 2n, purchases: 0n });
    },
  );

  it('is never added to the first, also where both together are more than enough', async () => {
    const { given, review } = await toppedUp(PRICE - 1n);
    await pass();
    expect(await countOf(given.id)).toEqual({ payments: 1n, purchases: 0n });
    expect((await decide(review.id, { outcome: 'declined' })).status).toBe(200);
    await pass();
    expect(await countOf(given.id)).toEqual({ payments: 1n, purchases: 0n });
  });

  it('leads somewhere whatever the seller decides at that very moment', async () => {
    for (const outcome of ['deliver', 'declined', 'deliver', 'declined']) {
      const { given, review } = await tooLittle();
      const more = await pay(given, PRICE);
      await finalize();
      const [answer, decided] = await Promise.all([claimWith(given, more), decide(review.id, { outcome })]);
      expect(decided.status).toBe(200);
      expect([200, 422]).toContain(answer.status);
      await pass();
      const after = await claimWith(given, more);
      // The further transfer is surplus if the seller delivered, and pays if the seller declined.
      expect([after.status, after.body['reason']]).toEqual(
        outcome === 'deliver' ? [422, 'already_bought'] : [200, undefined],
      );
      expect(await countOf(given.id)).toEqual({ payments: 2n, purchases: 1n });
    }
  });
});

describe('what is kept while the seller decides', () => {
  it('needs the signature of the wallet that paid', async () => {
    const { given, review } = await tooLittle();
    const more = await pay(given, REST);
    await finalize();
    const byOther = await signChallenge(await trade.wallet(), given.intent);
    expectKept(await claimWith(given, more, byOther), more, review);
    expect(await claimWith(given, more, `0x${'11'.repeat(65)}`)).toMatchObject({
      body: { reason: 'signature_invalid' },
    });
    expect(await waitingOf(given)).toBe(0n);
    expect(await statusBy(world, { tx_hash: more })).toMatchObject({ status: 404 });
    // The intent's payment gets its answer whatever the signature.
    expect(await claimWith(given, review.tx_hash, byOther)).toMatchObject({
      status: 422,
      body: { payment: { id: review.id } },
    });
  });

  it('is no word about a transaction of another wallet', async () => {
    const { given, review } = await tooLittle();
    const other = await begin();
    const foreign = await pay(other);
    expectKept(await claimWith(given, foreign), foreign, review);
    expect(await statusBy(world, { tx_hash: foreign })).toMatchObject({ status: 404 });
    await finalize();
    expect(await claimWith(given, foreign)).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('moved nothing from this wallet to the payee'), tx_hash: foreign },
    });
    expect([await waitingOf(given), await furtherOf(given)]).toEqual([0n, []]);
    expect(await claimWith(other, foreign)).toMatchObject({ status: 200, body: { artifact: other.artifact } });
    expect(await claimWith(given, foreign)).toMatchObject({ status: 409, body: { reason: 'transaction_used' } });
  });

  it('is five at most: a sixth takes the place of the oldest that was not seen, and none where all are', async () => {
    const { given, review } = await tooLittle();
    const seen = await pay(given, 1n);
    const names = [seen, ...Array.from({ length: 4 }, someHash)];
    for (const hash of names) expectKept(await claimWith(given, hash), hash, review);
    const sixth = await pay(given, 2n);
    expectKept(await claimWith(given, sixth), sixth, review);
    const shown = async () => (await furtherOf(given)).map(([hash]) => hash).toSorted();
    expect(await shown()).toEqual([seen, ...names.slice(2), sixth].toSorted());
    const all = [seen, sixth, await pay(given, 3n), await pay(given, 4n), await pay(given, 5n)];
    for (const hash of all) await claimWith(given, hash);
    const left = await pay(given, 6n);
    const answer = await claimWith(given, left);
    expectKept(answer, left, review);
    expect(answer.body['next_step']).not.toContain('shows where it stands');
    expect(await shown()).toEqual(all.toSorted());
  });

  it('is shown without an amount until it is final, and goes with its block', async () => {
    const { given } = await tooLittle();
    const before = await world.chain.rpc.call('evm_snapshot', []);
    const more = await pay(given, REST);
    await claimWith(given, more);
    expect(await furtherOf(given)).toEqual([[more, null, true]]);
    expect(await statusBy(world, { tx_hash: more })).toMatchObject({
      stage: 'mined',
      payment_status: 'payment_pending',
    });
    // Replace the block that held the further transfer.
    await world.chain.rpc.call('evm_revert', [before]);
    await world.chain.mine(2);
    await claimWith(given, more);
    expect(await statusBy(world, { tx_hash: more })).toMatchObject({ status: 404 });
    expect(await furtherOf(given)).toEqual([[more, null, true]]);
  });

  it('is kept while the chain cannot be read, and found when it is back', async () => {
    const { given, review } = await tooLittle();
    const more = await pay(given, REST);
    await finalize();
    proxy.silence(true);
    expectKept(await claimWith(given, more), more, review);
    proxy.silence(false);
    expect(await furtherOf(given)).toEqual([[more, null, true]]);
    await world.running.payments.further.readAll();
    expect(await furtherOf(given)).toEqual([[more, 0.2, true]]);
    expect(await statusBy(world, { tx_hash: more })).toMatchObject({ waits_for: { payment_id: review.id } });
  });
});

describe('what the chain shows of the window', () => {
  const look = (): Promise<void> => world.running.payments.further.readAll();

  it('is shown without a claim, and left out once it pays for other goods', async () => {
    const { given } = await tooLittle();
    const other = await begin({ payer: given.payer });
    const unclaimed = await pay(given, REST);
    const forOther = await pay(other);
    await transfer(world, WORLD_ACCOUNTS.stranger, given.intent.seller_wallet, 7n);
    await finalize();
    await look();
    expect(await furtherOf(given)).toEqual([
      [unclaimed, 0.2, false],
      [forOther, 2.5, false],
    ]);
    expect(await statusBy(world, { tx_hash: unclaimed })).toMatchObject({ status: 404 });
    expect(await claimWith(other, forOther)).toMatchObject({ status: 200, body: { artifact: other.artifact } });
    expect(await furtherOf(given)).toEqual([[unclaimed, 0.2, false]]);
    // Claiming it as well must not list it twice.
    await claimWith(given, unclaimed);
    expect(await furtherOf(given)).toEqual([[unclaimed, 0.2, true]]);
  });

  it('ends with the window, but for what is claimed', async () => {
    const { given } = await tooLittle();
    await time.moveTo(world, secondOf(given.intent.expires_at) - 1);
    const inTime = await pay(given, 3n);
    await time.moveTo(world, secondOf(given.intent.expires_at) + 1);
    const late = await pay(given, 4n);
    await finalize();
    await look();
    expect(await furtherOf(given)).toEqual([[inTime, 0.000003, false]]);
    await claimWith(given, late);
    expect((await furtherOf(given)).toSorted()).toEqual(
      [[inTime, 0.000003, false] as const, [late, 0.000004, true] as const].toSorted(),
    );
    // The whole window was read, so its logs are not queried again.
    const asked = proxy.calls('eth_getLogs');
    await look();
    expect(proxy.calls('eth_getLogs')).toBe(asked);
  });

  it('has the other parts of the very transaction that is in review', async () => {
    const given = await begin();
    const to = given.intent.seller_wallet;
    const txHash = await transferTogether(world, given.payer, [
      { to, units: PRICE - 1n },
      { to, units: 1n },
    ]);
    await finalize();
    expect(await claimWith(given, txHash)).toMatchObject({ status: 422, body: { reason: 'amount_too_little' } });
    await look();
    expect(await furtherOf(given)).toEqual([[txHash, 0.000001, false]]);
  });

  it('is found with a provider that takes few blocks in one query', async () => {
    const { given } = await tooLittle();
    const unclaimed = await pay(given, REST);
    await world.chain.mine(60);
    proxy.capLogs(5);
    await look();
    proxy.capLogs(null);
    expect(await furtherOf(given)).toEqual([[unclaimed, 0.2, false]]);
  });
});

describe('a claim for a second intent', () => {
  it('names its own transaction, and the one for the first intent is kept', async () => {
    const given = await begin();
    await time.moveOn(world, 360);
    const second = await openIntent(world, given.member, given.id);
    expect(second.id).not.toBe(given.intent.id);
    const txHash = await pay(given, MOST);
    await finalize();
    const review = { id: idOf(await claimWith(given, txHash)), tx_hash: txHash };
    const more = await pay(given, REST);
    await finalize();
    const bySecond = { ...given, intent: second, signature: await signChallenge(given.payer, second) };
    expect(await claimWith(bySecond, more)).toMatchObject({
      status: 409,
      body: {
        ...{ reason: 'payment_undecided', tx_hash: more, intent_id: given.intent.id, payment: { id: review.id } },
        detail: `Transaction ${more} was not looked at: another payment for this is undecided.`,
      },
    });
    expectKept(await claimWith(given, more), more, review);
    expect(await furtherOf(given)).toEqual([[more, 0.2, true]]);
  });
});
