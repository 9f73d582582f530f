import sql from 'sql-template-tag';
import { afterAll, beforeEach, describe, expect, it, test } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { CrashPoint } from '../../src/market/context.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { type Claiming, openFeeIntent, signChallenge, transfer } from '../support/direct.ts';
import { eventsOf, holdTransactionOpen, untilWaiting } from '../support/listing-life.ts';
import type { Answer, Member } from '../support/market-world.ts';
import { startScriptedFacilitator } from '../support/scripted-facilitator.ts';
import { seedFee } from '../support/seed.ts';
import { fundedWallet, listGoods, newGoods } from '../support/trade.ts';
import { FEE, statusAndReason } from './fee-stage.ts';
import { type DraftedThing, thingFeeStage } from './thing-fee-stage.ts';

const HOUR = 3_600;
const PENDING = [202, 'payment_pending'];

const facilitator = await startScriptedFacilitator();
// Registered before the world, because hooks registered last run first.
afterAll(() => facilitator.close());
let aheadMs = 0;
let deadly: CrashPoint | null = null;
const { stage, city, seller, draftThing, list, sign, cancel, stateOf, kindOf } = await thingFeeStage({
  facilitatorUrl: facilitator.url,
  clock: { now: () => systemClock.now() + aheadMs, sleep: systemClock.sleep },
  // An unexpected error ends a request or background job as a crash would.
  crashPoint: (point) => {
    if (point !== deadly) return;
    deadly = null;
    throw new Error(`died at ${point}`);
  },
});
const { finalize, payFee, wallet, countOf, creditsOf } = stage;

beforeEach(() => {
  facilitator.script({ verify: 'forward', settle: 'forward', to: stage.world.facilitator.url });
  city.answerAll(null);
});

const database = () => stage.world.db.database;
const reconcile = () => stage.world.running.payments.reconcileOnce();
const marked = (answer: Answer): unknown[] => [...statusAndReason(answer), answer.body['do_not_pay_again']];
const standOf = async (thing: DraftedThing): Promise<unknown[]> => [await stateOf(thing), await kindOf(thing.wallet)];
const signOwn = async () => sign(await fundedWallet(stage.world));
const cityIsGone = () => city.answerAll((to) => to.destroy());

/** Moves the clocks of market and chain forward together. */
async function moveTime(seconds: number): Promise<void> {
  aheadMs += seconds * 1_000;
  await stage.world.chain.rpc.call('evm_increaseTime', [seconds]);
  await stage.world.chain.mine(1);
}

/** Prepares a claim of a transfer that cannot pay. `again` makes a valid transfer for the same intent. */
async function claimOf(thing: DraftedThing, txHash?: string): Promise<Claiming & { again(): Promise<string> }> {
  const payer = await wallet();
  const intent = await openFeeIntent(stage.world, thing.seller);
  const signature = await signChallenge(payer, intent);
  const elsewhere = txHash ?? (await transfer(stage.world, payer, WORLD_ACCOUNTS.sellerOne.address, FEE));
  const again = () => transfer(stage.world, payer, intent.seller_wallet, FEE);
  return { intent, signature, txHash: elsewhere, again };
}

/** Returns the answer to a merchant who lists goods with this wallet. */
async function listGoodsWith(to: string): Promise<unknown[]> {
  return statusAndReason(await listGoods(stage.world, await stage.merchant(), newGoods({ seller_wallet: to })));
}

/** Starts goods of another merchant with the thing's wallet. Their fee is paid by a transfer that is not final. */
async function startGoods(thing: DraftedThing): Promise<{ member: Member; body: ReturnType<typeof newGoods> }> {
  const member = await stage.merchant();
  const body = newGoods({ seller_wallet: thing.wallet });
  expect(statusAndReason(await stage.list(member, body, await payFee(member)))).toEqual(PENDING);
  return { member, body };
}

describe('while the fee is under way', () => {
  it('the draft is held past its hour, and listed with the city away, which is not asked', async () => {
    const thing = await draftThing();
    expect(statusAndReason(await list(thing, { proof: (await signOwn()).v1 }))).toEqual(PENDING);
    await moveTime(2 * HOUR);
    expect(marked(await cancel(thing))).toEqual([409, 'draft_fee_pending', true]);
    await expect(draftThing({ seller: thing.seller })).rejects.toThrow(`"draft_id":${thing.draftId}`);
    const other = { ...thing, body: { ...thing.body, city_offer_id: 88 } };
    expect(marked(await list(other))).toEqual([409, 'draft_fee_pending', true]);
    expect(await standOf(thing)).toEqual(['fee_pending', 'world']);
    const reads = city.asked.length;
    cityIsGone();
    expect(statusAndReason(await list(thing))).toEqual(PENDING);
    await finalize();
    await reconcile();
    expect(await standOf(thing)).toEqual(['listed', 'world']);
    expect((await list(thing)).status).toBe(201);
    expect(city.asked).toHaveLength(reads);
  });

  it('twenty equal requests with one transfer are one fee and one listing', async () => {
    const thing = await draftThing();
    const claim = await payFee(thing.seller);
    const all = () => Promise.all(Array.from({ length: 20 }, () => list(thing, { claim })));
    expect((await all()).map(statusAndReason)).toEqual(Array(20).fill(PENDING));
    await finalize();
    expect((await all()).map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201]);
    expect([await countOf('payments', thing.seller), await countOf('listings', thing.seller)]).toEqual([1, 1]);
  });

  const deaths: [way: 'x402' | 'direct', point: CrashPoint, when: 'at once' | 'when it is final'][] = [
    ['x402', 'before_verify', 'at once'],
    ['x402', 'after_settling_committed', 'at once'],
    ['x402', 'after_settle_before_answer', 'at once'],
    ['x402', 'after_final_before_delivery', 'when it is final'],
    ['x402', 'after_commit_before_answer', 'when it is final'],
    ['direct', 'after_claim_committed', 'at once'],
  ];
  test.each(deaths)('%s, died %s: the same request goes on to one listing, without the city', async (way, at, when) => {
    const thing = await draftThing();
    const by = way === 'direct' ? { claim: await payFee(thing.seller) } : { proof: (await signOwn()).v2 };
    if (when === 'when it is final') {
      expect(statusAndReason(await list(thing, by))).toEqual(PENDING);
      await finalize();
    }
    deadly = at;
    expect((await list(thing, by)).status).toBe(500);
    expect(deadly).toBeNull();
    cityIsGone();
    if (when === 'at once') {
      expect(await stateOf(thing)).toBe('fee_pending');
      expect([202, 503]).toContain((await list(thing, by)).status);
      await finalize();
    }
    await reconcile();
    expect(await standOf(thing)).toEqual(['listed', 'world']);
    const listed = await list(thing, by);
    expect(listed.status).toBe(201);
    expect(await eventsOf(database(), BigInt(Number(listed.body['listing_id'])))).toHaveLength(1);
    expect([await countOf('fees', thing.seller), await countOf('listings', thing.seller)]).toEqual([1, 1]);
  });
});

describe('a fee that makes no listing gives back what it held', () => {
  it.each(['garbage', 'valid'] as const)('by x402, verified as %s, its authorization run out', async (verify) => {
    const thing = await draftThing();
    facilitator.script({ verify, settle: 'garbage' });
    expect([202, 503]).toContain((await list(thing, { proof: (await signOwn()).v2 })).status);
    expect(await standOf(thing)).toEqual(['fee_pending', 'world']);
    expect(await listGoodsWith(thing.wallet)).toEqual([409, 'wallet_in_use']);
    await moveTime(130);
    await finalize();
    await reconcile();
    expect(await standOf(thing)).toEqual(['pending', null]);
    expect([await countOf('pending_listings', thing.seller), await countOf('fees', thing.seller)]).toEqual([0, 0]);
    expect(await listGoodsWith(thing.wallet)).toEqual([402, 'payment_required']);
    expect(marked(await list(thing))).toEqual([402, 'payment_required', false]);
    expect((await cancel(thing)).status).toBe(200);
  });

  it('by a transfer that never came, when the draft’s hour is over too', async () => {
    const thing = await draftThing();
    expect((await list(thing, { claim: await claimOf(thing, `0x${'9'.repeat(64)}`) })).status).toBe(202);
    await moveTime(HOUR);
    expect(await standOf(thing)).toEqual(['fee_pending', 'world']);
    await finalize();
    await reconcile();
    expect(await standOf(thing)).toEqual(['expired', null]);
    expect(marked(await list(thing))).toEqual([409, 'draft_closed', false]);
    expect(await standOf(await draftThing({ seller: thing.seller, wallet: thing.wallet }))).toEqual(['pending', null]);
  });

  it('by a transfer to another wallet; then the draft is listed for the right one', async () => {
    const thing = await draftThing();
    const claim = await claimOf(thing);
    expect((await list(thing, { claim })).status).toBe(202);
    await finalize();
    expect(marked(await list(thing, { claim }))).toEqual([422, 'transfer_not_found', false]);
    expect(await standOf(thing)).toEqual(['pending', null]);
    const right = { ...claim, txHash: await claim.again() };
    await finalize();
    expect((await list(thing, { claim: right })).status).toBe(201);
  });

  it('for a review, as it begins; taken as paid, it is a credit for the same draft', async () => {
    const thing = await draftThing();
    const claim = await payFee(thing.seller, { units: FEE - 1n });
    expect((await list(thing, { claim })).status).toBe(202);
    await finalize();
    await reconcile();
    expect(await standOf(thing)).toEqual(['pending', null]);
    expect(await listGoodsWith(thing.wallet)).toEqual([402, 'payment_required']);
    const review = await list(thing, { claim });
    expect(marked(review)).toEqual([422, 'amount_too_little', true]);
    const { id } = review.body['payment'] as { id: number };
    const decision = { key: stage.keeper.key, body: { outcome: 'deliver' } };
    expect((await stage.world.ask('POST', `/api/review/${id}`, decision)).status).toBe(200);
    expect((await list(thing)).status).toBe(201);
    expect([await creditsOf(thing.seller), await stateOf(thing)]).toEqual([0, 'listed']);
  });

  it('but not the wallet that another draft holds as well', async () => {
    const first = await draftThing();
    const second = await draftThing({ wallet: first.wallet });
    facilitator.script({ verify: 'garbage', settle: 'garbage' });
    expect((await list(first, { proof: (await signOwn()).v2 })).status).toBe(503);
    expect((await list(second, { claim: await payFee(second.seller) })).status).toBe(202);
    await moveTime(130);
    await reconcile();
    expect([await standOf(first), await standOf(second)]).toEqual([
      ['pending', 'world'],
      ['fee_pending', 'world'],
    ]);
  });
});

it('a draft that is canceled while its fee is being opened has none opened', async () => {
  const thing = await draftThing();
  const claim = await payFee(thing.seller);
  const row = sql`update world_drafts set state = 'canceled', ended_at = now() where id = ${thing.draftId}`;
  const canceling = await holdTransactionOpen(database(), (tx) => tx.run(row));
  const asked = list(thing, { claim });
  await untilWaiting(database());
  await canceling.commit();
  expect(marked(await asked)).toEqual([409, 'draft_closed', true]);
  expect([await countOf('payments', thing.seller), await kindOf(thing.wallet)]).toEqual([0, null]);
});

describe('of goods and a thing with one wallet', () => {
  it('the thing whose fee opens first is listed; the goods’ fee, final a moment later, is a credit', async () => {
    const thing = await draftThing();
    const goods = await startGoods(thing);
    await finalize();
    const held = await holdTransactionOpen(database(), (tx) => tx.lock('listings'));
    const passing = reconcile();
    await untilWaiting(database());
    expect((await list(thing, { claim: await payFee(thing.seller) })).status).toBe(202);
    await held.commit();
    await passing;
    expect([await creditsOf(goods.member), await countOf('listings', goods.member)]).toEqual([1, 0]);
    expect(marked(await listGoods(stage.world, goods.member, goods.body))).toEqual([409, 'wallet_in_use', true]);
    await finalize();
    expect((await list(thing)).status).toBe(201);
  });

  it('goods that are listed first have it: no fee is opened for the thing, nor is another drafted', async () => {
    const thing = await draftThing();
    const goods = await startGoods(thing);
    await finalize();
    const claim = await payFee(thing.seller);
    // By then, the goods have reserved the wallet and wait for the guard.
    const place = sql`select from artifact_guards where merchant_id = ${goods.member.id} for update`;
    const held = await holdTransactionOpen(database(), (tx) => tx.run(place));
    const passing = reconcile();
    await untilWaiting(database());
    const asked = list(thing, { claim });
    await untilWaiting(database(), 2);
    await held.commit();
    expect(marked(await asked)).toEqual([409, 'wallet_in_use', true]);
    await passing;
    expect((await listGoods(stage.world, goods.member, goods.body)).status).toBe(201);
    expect([await countOf('payments', thing.seller), await standOf(thing)]).toEqual([0, ['pending', 'ordinary']]);
    await cancel(thing);
    await expect(draftThing({ seller: thing.seller, wallet: thing.wallet })).rejects.toThrow('wallet_in_use');
  });
});

describe('who may have paid is not asked to pay', () => {
  it('while the city is away: with a transfer in hand, or a credit', async () => {
    const thing = await draftThing();
    const DOWN = [503, 'city_unavailable'];
    const claim = await payFee(thing.seller);
    cityIsGone();
    expect(marked(await list(thing))).toEqual([...DOWN, false]);
    const sent = await list(thing, { claim });
    expect([...marked(sent), sent.body['retry']]).toEqual([...DOWN, true, 'same_request']);
    await seedFee(database(), thing.seller.id);
    expect(marked(await list(thing))).toEqual([...DOWN, true]);
    city.answerAll(null);
    expect((await list(thing, { claim })).status).toBe(201);
  });

  it('for an offer that differs, nor once the draft is over; the transfer is good for the next', async () => {
    const owner = await seller();
    const thing = await draftThing({ seller: owner, offer: { price_usdc: 3 } });
    const claim = await payFee(owner);
    expect(marked(await list(thing, { claim }))).toEqual([409, 'offer_mismatch', true]);
    await moveTime(HOUR - 10);
    expect(marked(await list(thing))).toEqual([409, 'offer_mismatch', false]);
    await moveTime(10);
    expect(marked(await list(thing))).toEqual([409, 'draft_closed', false]);
    expect(marked(await list(thing, { claim }))).toEqual([409, 'draft_closed', true]);
    await finalize();
    expect((await list(await draftThing({ seller: owner }), { claim })).status).toBe(201);
  });

  it('nor twice at once, nor with what the request does not know', async () => {
    const thing = await draftThing();
    const both = { claim: await payFee(thing.seller), proof: (await signOwn()).v1 };
    expect(statusAndReason(await list(thing, both))).toEqual([400, 'two_proofs']);
    const more = { ...thing, body: { ...thing.body, title: 'Another' } };
    expect(statusAndReason(await list(more))).toEqual([400, 'unexpected_fields']);
    expect(await standOf(thing)).toEqual(['pending', null]);
  });
});
