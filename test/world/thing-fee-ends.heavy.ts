import sql from 'sql-template-tag';
import { beforeEach, describe, expect, it, test } from 'vitest';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { releaseWallet, reserveWallet } from '../../src/market/world/drafts/store.ts';
import { type Hex, toBytes } from '../../src/platform/hex.ts';
import { usdcAdmin } from '../support/chain.ts';
import { createWorldTime } from '../support/direct.ts';
import { holdTransactionOpen, untilWaiting } from '../support/listing-life.ts';
import { type Answer, type Member, paidUnits } from '../support/market-world.ts';
import { listGoods, newGoods } from '../support/trade.ts';
import { FEE, statusAndReason } from './fee-stage.ts';
import { type DraftedThing, thingFeeStage } from './thing-fee-stage.ts';

const { treasury, stranger } = WORLD_ACCOUNTS;
const time = createWorldTime();
const { stage, seller, draft, draftThing, show, list, sign, cancel, stateOf, kindOf } = await thingFeeStage({
  clock: time.clock,
});
const { payFee, wallet, countOf, creditsOf } = stage;

const PENDING = [202, 'payment_pending'];
const HOUR_SECONDS = 3_600;
const marked = (answer: Answer): unknown[] => [...statusAndReason(answer), answer.body['do_not_pay_again']];

/** Mines one block per second and moves the clock along, because the market distrusts blocks newer than its clock. */
async function finalize(): Promise<void> {
  await stage.finalize();
  await time.moveOn(stage.world, 1);
}
const reconcile = () => stage.world.running.payments.reconcileOnce();

beforeEach(async () => {
  await time.moveOn(stage.world, 1);
});

/** Starts an x402 fee whose authorization the payer cancels, so it never reaches the chain. The fee ends with the next `finalize`. */
async function startUnpayableFee(thing: DraftedThing): Promise<void> {
  const payer = await wallet();
  const admin = usdcAdmin(stage.world.chain);
  await admin.blacklist(payer.address);
  const proof = await sign(payer);
  expect(statusAndReason(await list(thing, { proof: proof.v2 }))).toEqual([402, 'payment_rejected']);
  expect([await stateOf(thing), await kindOf(thing.wallet)]).toEqual(['fee_pending', 'world']);
  await admin.cancelAuthorization(stranger, payer, proof.authorization.nonce);
}

describe('a fee that ends unpaid', () => {
  it('gives draft and wallet free: for goods, for another attempt, or to be canceled', async () => {
    const thing = await draftThing();
    await startUnpayableFee(thing);
    await finalize();
    await reconcile();
    expect([await stateOf(thing), await kindOf(thing.wallet)]).toEqual(['pending', null]);
    expect(await countOf('pending_listings', thing.seller)).toBe(0);
    const goods = newGoods({ seller_wallet: thing.wallet });
    expect((await listGoods(stage.world, thing.seller, goods)).status).toBe(402);
    const payer = await wallet();
    expect(statusAndReason(await list(thing, { proof: (await sign(payer)).v1 }))).toEqual(PENDING);
    await finalize();
    expect((await list(thing)).status).toBe(201);
    expect(await paidUnits(stage.world.chain, payer.address, treasury.address)).toEqual([FEE]);
  });

  it('leaves a draft that can be canceled', async () => {
    const thing = await draftThing();
    await startUnpayableFee(thing);
    await finalize();
    await reconcile();
    expect(await cancel(thing)).toMatchObject({ status: 200, body: { draft: { state: 'canceled' } } });
    expect(statusAndReason(await list(thing))).toEqual([409, 'draft_closed']);
  });

  it('after the draft’s hour: it is over then, and not before', async () => {
    const thing = await draftThing();
    await startUnpayableFee(thing);
    await time.moveOn(stage.world, HOUR_SECONDS + 60);
    expect(await stateOf(thing)).toBe('fee_pending');
    expect(statusAndReason(await draft(thing.seller, { seller_wallet: thing.wallet }))).toEqual([409, 'draft_pending']);
    await finalize();
    await reconcile();
    expect([await stateOf(thing), await kindOf(thing.wallet)]).toEqual(['expired', null]);
    const written = sql`select state from world_drafts where id = ${thing.draftId}`;
    expect(await stage.world.db.database.one(written)).toEqual({ state: 'expired' });
    expect((await draft(thing.seller, { seller_wallet: thing.wallet })).status).toBe(201);
  });

  it('leaves the wallet to another draft and to a listing that have it too', async () => {
    const shared = testAccount('wallet of two things').address;
    const [first, second] = [await draftThing({ wallet: shared }), await draftThing({ wallet: shared })];
    await startUnpayableFee(first);
    expect(statusAndReason(await list(second, { claim: await payFee(second.seller) }))).toEqual(PENDING);
    await finalize();
    await reconcile();
    expect([await stateOf(first), await stateOf(second)]).toEqual(['pending', 'listed']);
    expect(await kindOf(shared)).toBe('world');
    await startUnpayableFee(first);
    await finalize();
    await reconcile();
    expect([await stateOf(first), await kindOf(shared)]).toEqual(['pending', 'world']);
  });
});

it('a fee under way lists the thing after the draft’s hour: it cannot be canceled meanwhile, and no other is drafted', async () => {
  const thing = await draftThing();
  const claim = await payFee(thing.seller);
  expect(statusAndReason(await list(thing, { claim }))).toEqual(PENDING);
  time.shiftMarketClock(2 * HOUR_SECONDS);
  expect(await stateOf(thing)).toBe('fee_pending');
  expect(marked(await cancel(thing))).toEqual([409, 'draft_fee_pending', true]);
  const other = { ...thing, body: { ...thing.body, city_offer_id: 1 } };
  expect(marked(await list(other))).toEqual([409, 'draft_fee_pending', true]);
  await finalize();
  await reconcile();
  expect(await stateOf(thing)).toBe('listed');
  expect((await list(thing)).status).toBe(201);
});

it('a fee that goes to review gives draft and wallet free; taken as paid it is a credit that lists the same body', async () => {
  const thing = await draftThing();
  const claim = await payFee(thing.seller, { units: FEE - 1n });
  expect(statusAndReason(await list(thing, { claim }))).toEqual(PENDING);
  await finalize();
  const review = await list(thing, { claim });
  expect(marked(review)).toEqual([422, 'amount_too_little', true]);
  expect([await stateOf(thing), await kindOf(thing.wallet)]).toEqual(['pending', null]);
  const { id } = review.body['payment'] as { id: number };
  const decided = { key: stage.keeper.key, body: { outcome: 'deliver' } };
  expect((await stage.world.ask('POST', `/api/review/${id}`, decided)).status).toBe(200);
  expect(await list(thing, { claim })).toMatchObject({ status: 201, body: { fee: { tx_hash: claim.txHash } } });
  expect([await stateOf(thing), await creditsOf(thing.seller)]).toEqual(['listed', 0]);
});

describe('a fee whose thing cannot be listed any more', () => {
  /** Creates a fee that comes too late, because the city attributes one offer to two merchants. */
  async function lateFee(): Promise<{ thing: DraftedThing; claim: Awaited<ReturnType<typeof payFee>> }> {
    const first = await draftThing();
    const claims = [await payFee(first.seller)];
    expect((await list(first, { claim: claims[0] ?? expect.fail() })).status).toBe(202);
    const thing = await draftThing({ offerId: first.offerId });
    const claim = await payFee(thing.seller);
    expect((await list(thing, { claim })).status).toBe(202);
    await finalize();
    await reconcile();
    return { thing, claim };
  }

  it('is a credit, and draft and wallet are free; the same request says so and asks for nothing', async () => {
    const { thing, claim } = await lateFee();
    expect([await stateOf(thing), await kindOf(thing.wallet)]).toEqual(['pending', null]);
    expect(await creditsOf(thing.seller)).toBe(1);
    expect(marked(await list(thing))).toEqual([409, 'offer_mismatch', true]);
    expect(marked(await list(thing, { claim }))).toEqual([409, 'offer_mismatch', true]);
    expect(await countOf('listings', thing.seller)).toBe(0);
    const own = { ...thing, offerId: thing.offerId + 5_000n };
    const body = { ...thing.body, city_offer_id: Number(own.offerId) };
    show(own);
    const listed = await list({ ...own, body });
    expect(listed).toMatchObject({ status: 201, body: { fee: { tx_hash: claim.txHash } } });
    expect([await creditsOf(thing.seller), await stateOf(thing)]).toEqual([0, 'listed']);
  });

  it('whose stored offer cannot be read, by a later version perhaps, is a credit too and does not wait for ever', async () => {
    const thing = await draftThing();
    expect((await list(thing, { claim: await payFee(thing.seller) })).status).toBe(202);
    await stage.world.db.database.run(sql`
      update pending_listings set body = convert_to('{"offer":1}', 'UTF8') where draft_id = ${thing.draftId}`);
    await finalize();
    await reconcile();
    expect([await stateOf(thing), await creditsOf(thing.seller)]).toEqual(['pending', 1]);
    expect((await list(thing)).status).toBe(201);
  });
});

describe('two offers for one draft', () => {
  it('at once: one fee is opened, the other is told to wait', async () => {
    const thing = await draftThing();
    const other = { ...thing, offerId: thing.offerId + 9_000n };
    const bodies = [thing.body, { ...thing.body, city_offer_id: Number(other.offerId) }];
    show(other);
    const proofs = [await sign(await wallet()), await sign(await wallet())];
    const answers = await Promise.all(bodies.map((body, n) => list({ ...thing, body }, { proof: proofs[n]?.v2 })));
    expect(answers.map(statusAndReason).sort()).toEqual([PENDING, [409, 'draft_fee_pending']]);
    await finalize();
    await reconcile();
    expect([await countOf('fees', thing.seller), await countOf('listings', thing.seller)]).toEqual([1, 1]);
  });
});

describe('of goods and a thing with one wallet', () => {
  const goodsOf = (to: Hex) => newGoods({ seller_wallet: to });

  it('whose fees are both under way, the thing is listed; the fee for the goods is a credit', async () => {
    const thing = await draftThing();
    const member = await stage.merchant();
    const goods = goodsOf(thing.wallet);
    const proof = await sign(await wallet(), '/api/listing');
    expect((await listGoods(stage.world, member, goods, { proof: proof.v1 })).status).toBe(202);
    expect((await list(thing, { claim: await payFee(thing.seller) })).status).toBe(202);
    await finalize();
    await reconcile();
    expect([await stateOf(thing), await creditsOf(member)]).toEqual(['listed', 1]);
    expect(marked(await listGoods(stage.world, member, goods))).toEqual([409, 'wallet_in_use', true]);
  });

  it('goods that come while the fee of the thing is being opened wait for it, and are refused', async () => {
    const to = testAccount('wallet held by a thing').address;
    const opening = await holdTransactionOpen(stage.world.db.database, (tx) => reserveWallet(tx, to));
    const asked = listGoods(stage.world, stage.keeper, goodsOf(to));
    await untilWaiting(stage.world.db.database);
    await opening.commit();
    expect(statusAndReason(await asked)).toEqual([409, 'wallet_in_use']);
  });

  it('a thing that comes while the goods are being listed waits for them, and is refused before any fee', async () => {
    const thing = await draftThing();
    const bytes = toBytes(thing.wallet);
    const listing = await holdTransactionOpen(stage.world.db.database, (tx) =>
      tx.run(sql`insert into wallet_uses (wallet, kind) values (${bytes}, 'ordinary')`),
    );
    const asked = list(thing, { claim: await payFee(thing.seller) });
    await untilWaiting(stage.world.db.database);
    await listing.commit();
    expect(marked(await asked)).toEqual([409, 'wallet_in_use', true]);
    expect([await stateOf(thing), await countOf('payments', thing.seller)]).toEqual(['pending', 0]);
  });

  it('ten of both at once: of one kind only are there any, and each payer has a listing or a credit', async () => {
    const to = testAccount('wallet of ten').address;
    const things = await Promise.all(Array.from({ length: 5 }, () => draftThing({ wallet: to })));
    const members: Member[] = await Promise.all(Array.from({ length: 5 }, () => stage.merchant()));
    const payers: TestAccount[] = [];
    for (let n = 0; n < 5; n += 1) payers.push(await wallet());
    await Promise.all([
      ...things.map(async (thing, n) => list(thing, { proof: (await sign(payers[n] ?? stranger)).v1 })),
      ...members.map(async (member, n) =>
        listGoods(stage.world, member, goodsOf(to), { proof: (await sign(payers[n] ?? stranger, '/api/listing')).v1 }),
      ),
    ]);
    await finalize();
    await Promise.all([reconcile(), reconcile()]);
    const kinds = await stage.world.db.database.rows<{ kind: string }>(
      sql`select distinct wallet_kind as kind from listings where seller_wallet = ${toBytes(to)}`,
    );
    expect(kinds).toHaveLength(1);
    for (const member of [...members, ...things.map(({ seller: by }) => by)]) {
      const [fees, listings] = [await countOf('fees', member), await countOf('listings', member)];
      expect(await creditsOf(member)).toBe(fees - listings);
    }
    const paid = await Promise.all(
      payers.map(({ address }) => paidUnits(stage.world.chain, address, treasury.address)),
    );
    const { fees } = await stage.world.db.database.one<{ fees: bigint }>(sql`
      select count(*) as fees from fees where merchant_id = any(${[...members, ...things.map(({ seller: by }) => by)].map(({ id }) => id)}::bigint[])`);
    expect(BigInt(paid.flat().length)).toBe(fees);
  });
});

describe('a wallet that is freed', () => {
  it('while another thing is about to hold it is held again', async () => {
    const thing = await draftThing();
    const { database } = stage.world.db;
    await database.run(sql`insert into wallet_uses (wallet, kind) values (${toBytes(thing.wallet)}, 'world')`);
    const freeing = await holdTransactionOpen(database, (tx) => releaseWallet(tx, thing.wallet));
    const asked = list(thing, { claim: await payFee(thing.seller) });
    await untilWaiting(database);
    await freeing.commit();
    expect(statusAndReason(await asked)).toEqual(PENDING);
    expect(await kindOf(thing.wallet)).toBe('world');
  });

  it('while another thing has just taken it stays, and the fee that ended is ended all the same', async () => {
    const shared = testAccount('wallet freed and taken').address;
    const [first, second] = [await draftThing({ wallet: shared }), await draftThing({ wallet: shared })];
    await startUnpayableFee(first);
    const { database } = stage.world.db;
    const taking = await holdTransactionOpen(database, async (tx) => {
      await reserveWallet(tx, shared);
      await tx.run(sql`
        update world_drafts set state = 'fee_pending', held_wallet = seller_wallet, offer_id = 1,
          payment_id = (select min(id) from payments) where id = ${second.draftId}`);
    });
    await finalize();
    const ending = reconcile();
    await untilWaiting(database);
    await taking.commit();
    await ending;
    expect([await stateOf(first), await stateOf(second), await kindOf(shared)]).toEqual([
      'pending',
      'fee_pending',
      'world',
    ]);
  });
});

test('a draft that is canceled or over while its fee is being opened has no fee opened for it', async () => {
  const { database } = stage.world.db;
  const canceled = await draftThing();
  const canceling = await holdTransactionOpen(database, (tx) =>
    tx.run(sql`update world_drafts set state = 'canceled', ended_at = now() where id = ${canceled.draftId}`),
  );
  const asked = list(canceled, { proof: (await sign(await wallet())).v1 });
  await untilWaiting(database);
  await canceling.commit();
  expect(statusAndReason(await asked)).toEqual([409, 'draft_closed']);
  expect([await countOf('payments', canceled.seller), await kindOf(canceled.wallet)]).toEqual([0, null]);

  const over = await draftThing({ seller: await seller() });
  const holding = await holdTransactionOpen(database, (tx) =>
    tx.one(sql`select id from world_drafts where id = ${over.draftId} for update`),
  );
  const tooLate = list(over, { proof: (await sign(await wallet())).v1 });
  await untilWaiting(database);
  time.shiftMarketClock(HOUR_SECONDS);
  await holding.commit();
  expect(statusAndReason(await tooLate)).toEqual([409, 'draft_closed']);
  expect(await countOf('payments', over.seller)).toBe(0);
});
