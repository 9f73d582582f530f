import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import { checksummed } from '../../src/contract/chain-values.ts';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { countRows } from '../support/database.ts';
import { feePayment, openFeeIntent, signChallenge, transfer } from '../support/direct.ts';
import { BASE_URL, paidUnits } from '../support/market-world.ts';
import { fundedWallet, listGoods, newGoods, signFee } from '../support/trade.ts';
import { FEE, feeStage, statusAndReason } from './fee-stage.ts';

const { treasury } = WORLD_ACCOUNTS;
const stage = feeStage();
const { finalize, list, payFee, merchant, wallet, countOf, creditsOf } = stage;
const PENDING = [202, 'payment_pending'];

describe('a fee intent', () => {
  it('names the treasury and the fee, is shown again while it can be used, and is one for two who ask at once', async () => {
    const { world } = stage;
    const member = await merchant();
    await world.chain.mine();
    const ask = () => world.ask('POST', '/api/fee-intent', { key: member.key });
    const both = await Promise.all([ask(), ask()]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 201]);
    const [one, other] = both.map(({ body }) => body['fee_intent'] as Record<string, unknown>);
    expect(one).toEqual(other);
    expect(one).toMatchObject({
      listing_id: null,
      buyer: member.handle,
      payer_wallet: null,
      seller_wallet: checksummed(treasury.address),
      minimum_amount_usdc: '1.000000',
      minimum_amount_units: FEE.toString(),
      signature_method: 'personal_sign',
      tip_allowed: true,
    });
    const lines = String(one?.['challenge']).split('\n');
    expect(lines.slice(3, 9)).toEqual([
      `intent_id: ${one?.['id']}`,
      'purpose: listing_fee',
      'listing_id: none',
      `buyer: ${member.handle}`,
      'payer: the wallet that signs this text',
      `payee: ${checksummed(treasury.address)}`,
    ]);
    expect((await ask()).status).toBe(200);
  });

  it('names a wallet where one is given: another one has to wait, leaving it out shows the open intent', async () => {
    const { world } = stage;
    const member = await merchant();
    const [mine, other] = [await wallet(), await wallet()];
    const unnamed = await openFeeIntent(world, member);
    const named = await openFeeIntent(world, member, { payer_wallet: mine.address });
    expect(named.id).not.toBe(unnamed.id);
    expect(named.payer_wallet).toBe(checksummed(mine.address));
    expect((await openFeeIntent(world, member, { payer_wallet: mine.address })).id).toBe(named.id);
    expect([unnamed.id, named.id]).toContain((await openFeeIntent(world, member)).id);
    const asked = { key: member.key, body: { payer_wallet: other.address } };
    expect(statusAndReason(await world.ask('POST', '/api/fee-intent', asked))).toEqual([409, 'other_payer_open']);
  });

  it('is refused where no fee is due: to the maintainer, and to a merchant with a credit', async () => {
    const { world, keeper } = stage;
    const ask = (key: string) => world.ask('POST', '/api/fee-intent', { key });
    expect(statusAndReason(await ask(keeper.key))).toEqual([409, 'fee_not_due']);
    const member = await merchant();
    const paid = await payFee(member, { units: FEE - 1n });
    await finalize();
    const review = await list(member, newGoods(), paid);
    const { id } = review.body['payment'] as { id: number };
    const decided = await world.ask('POST', `/api/review/${id}`, { key: keeper.key, body: { outcome: 'deliver' } });
    expect(decided.status).toBe(200);
    const refused = await ask(member.key);
    expect([...statusAndReason(refused), refused.body['do_not_pay_again']]).toEqual([409, 'fee_not_due', true]);
    expect(await ask('')).toMatchObject({ status: 401 });
  });

  it('does not open for a merchant with five fees under way, whichever way they are paid', async () => {
    const { world } = stage;
    const member = await merchant();
    for (const way of ['direct', 'x402', 'direct', 'x402', 'direct']) {
      const answer =
        way === 'x402'
          ? await listGoods(world, member, newGoods(), { proof: (await signFee(world, await fundedWallet(world))).v1 })
          : await list(member, newGoods(), await payFee(member));
      expect(statusAndReason(answer), way).toEqual(PENDING);
    }
    const refused = await world.ask('POST', '/api/fee-intent', { key: member.key });
    expect(statusAndReason(refused)).toEqual([409, 'too_many_open_fees']);
    await finalize();
    await world.running.payments.reconcileOnce();
    expect((await world.ask('POST', '/api/fee-intent', { key: member.key })).status).toBe(201);
    expect(await countOf('listings', member)).toBe(5);
  });
});

describe('a listing whose fee is a transfer', () => {
  it('is 202 until the transfer is final, then 201 once, then 200 for seven days, and charges nothing again', async () => {
    const { world } = stage;
    const member = await merchant();
    const body = newGoods();
    const paid = await payFee(member);
    const other = await signFee(world, paid.payer);
    const second = await payFee(member, { named: await wallet() });
    const first = await list(member, body, paid);
    expect(statusAndReason(first)).toEqual(PENDING);
    expect(first.body).toMatchObject({
      do_not_pay_again: true,
      retry: 'same_request',
      payment: { purpose: 'listing_fee', tx_hash: paid.txHash, stage: 'mined', listing_id: null },
    });
    const ways = [
      () => list(member, body, paid),
      () => listGoods(world, member, body),
      () => listGoods(world, member, body, { proof: other.v1 }),
      () => listGoods(world, member, body, { proof: other.v2 }),
      () => list(member, body, second),
    ];
    for (const [n, way] of ways.entries()) {
      const again = await way();
      expect([n, ...statusAndReason(again)]).toEqual([n, ...PENDING]);
      expect(again.body['payment']).toMatchObject({ tx_hash: paid.txHash });
    }
    await finalize();
    const listed = await list(member, body, paid);
    expect(listed.status).toBe(201);
    const id = listed.body['listing_id'];
    expect(listed.body).toMatchObject({
      url: `${BASE_URL}/api/listing/${id}`,
      listing: { id, merchant: member.handle, title: body.title, state: 'live' },
      fee: { amount_usdc: 1, tx_hash: paid.txHash, verified_via: 'direct' },
    });
    for (const [n, way] of ways.entries()) {
      const later = await way();
      expect([n, later.status, later.body['listing_id']]).toEqual([n, 200, id]);
    }
    expect(await countOf('fees', member)).toBe(1);
    expect(await countOf('payments', member)).toBe(1);
    expect(await paidUnits(world.chain, paid.payer.address, treasury.address)).toEqual([FEE]);
    const status = await world.ask('GET', `/api/payment?intent_id=${paid.intent.id}`);
    expect(status.body['payment']).toMatchObject({ payment_status: 'completed', stage: 'delivered', listing_id: id });
    // The other transfer has paid for nothing yet, so it pays for the next goods.
    expect((await list(member, newGoods(), second)).status).toBe(201);
  });

  it('goes live by the background pass alone, with its line in the books and its event', async () => {
    const { world } = stage;
    const member = await merchant();
    const body = newGoods({ price_usdc: 7 });
    const paid = await payFee(member, { units: FEE + 500_000n });
    expect((await list(member, body, paid)).status).toBe(202);
    await finalize();
    await world.running.payments.reconcileOnce();
    const [event] = await stage.newestEvents();
    expect(event).toMatchObject({ kind: 'listing', actor: member.handle, detail: { price_usdc: 7 } });
    const { listing_id: listingId } = (event ?? expect.fail())['detail'] as Record<string, unknown>;
    const { body: books } = await world.ask('GET', '/treasury');
    expect((books['recent_fees'] as unknown[])[0]).toMatchObject({
      listing_id: listingId,
      merchant: member.handle,
      amount_usdc: 1.5,
      tx_hash: paid.txHash,
      verified_via: 'direct',
    });
    const answers = await Promise.all(Array.from({ length: 8 }, () => listGoods(world, member, body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(7).fill(200), 201]);
    expect(await countOf('pending_listings', member)).toBe(0);
  });

  it('is refused with two kinds of payment at once, and dry runs take up nothing', async () => {
    const { world } = stage;
    const member = await merchant();
    const body = newGoods();
    const paid = await payFee(member);
    await finalize();
    const before = await countRows(world.db.database);
    const proof = await signFee(world, paid.payer);
    const withBoth = { ...body, fee_payment: feePayment(paid) };
    for (const sent of [proof.v1, proof.v2]) {
      const both = await listGoods(world, member, withBoth, { proof: sent });
      expect(statusAndReason(both)).toEqual([400, 'two_proofs']);
    }
    const dry = await listGoods(world, member, withBoth, { dryRun: true });
    expect(dry).toMatchObject({ status: 200, body: { dry_run: true, would_cost_usdc: 1 } });
    for (const spoiled of [
      {},
      { intent_id: 'x' },
      { ...feePayment(paid), more: 1 },
      { ...feePayment(paid), tx_hash: '0x12' },
    ]) {
      const shape = await listGoods(world, member, { ...body, fee_payment: spoiled });
      expect(shape.status).toBe(400);
    }
    expect(await countRows(world.db.database)).toEqual(before);
    expect((await list(member, body, paid)).status).toBe(201);
  });

  it('with a transfer that is no fee leaves place and body free, and is claimed again by the right one', async () => {
    const { world } = stage;
    const member = await merchant();
    const body = newGoods();
    const payer = await wallet();
    const intent = await openFeeIntent(world, member);
    const signature = await signChallenge(payer, intent);
    const elsewhere = await transfer(world, payer, WORLD_ACCOUNTS.sellerOne.address, FEE);
    const wrong = { intent, signature, txHash: elsewhere };
    expect(statusAndReason(await list(member, body, wrong))).toEqual(PENDING);
    expect(await countOf('pending_listings', member)).toBe(1);
    expect(await countOf('artifact_guards', member)).toBe(1);
    await finalize();
    const refused = await list(member, body, wrong);
    expect([...statusAndReason(refused), refused.body['do_not_pay_again']]).toEqual([422, 'transfer_not_found', false]);
    expect(await countOf('pending_listings', member)).toBe(0);
    expect(await countOf('artifact_guards', member)).toBe(0);
    // The guard for these goods is free for any merchant, so this merchant takes it again.
    expect(statusAndReason(await listGoods(world, member, body))).toEqual([402, 'payment_required']);
    const foreign = await signChallenge(WORLD_ACCOUNTS.buyerTwo, intent);
    const txHash = await transfer(world, payer, intent.seller_wallet, FEE);
    await finalize();
    const byOther = await list(member, body, { intent, signature: foreign, txHash });
    expect([...statusAndReason(byOther), byOther.body['do_not_pay_again']]).toEqual([422, 'wrong_payer', true]);
    expect(await countOf('pending_listings', member)).toBe(0);
    expect((await list(member, body, { intent, signature, txHash })).status).toBe(201);
    expect(await countOf('payments', member)).toBe(3);
    expect(await countOf('artifact_guards', member)).toBe(1);
  });
});

describe('a fee by transfer that is too little', () => {
  it('is for the maintainer to decide on, and once accepted is a credit that one listing spends', async () => {
    const { world, keeper } = stage;
    const member = await merchant();
    const body = newGoods();
    const paid = await payFee(member, { units: FEE - 1n });
    expect(statusAndReason(await list(member, body, paid))).toEqual(PENDING);
    await finalize();
    const review = await list(member, body, paid);
    expect(review).toMatchObject({
      status: 422,
      body: {
        reason: 'amount_too_little',
        payment_status: 'needs_review',
        do_not_pay_again: true,
        payment: { payment_status: 'needs_review', outcome: 'amount_too_little', listing_id: null },
      },
    });
    const { id } = review.body['payment'] as { id: number };
    expect(statusAndReason(await listGoods(world, member, body))).toEqual([422, 'needs_review']);
    expect(await countOf('pending_listings', member)).toBe(0);
    const me = await world.ask('GET', '/api/me', { key: keeper.key });
    expect(me.body['reviews']).toMatchObject([
      { payment_id: id, purpose: 'listing_fee', listing_id: null, asked_usdc: 1, received_usdc: 0.999999 },
    ]);
    expect((await world.ask('GET', '/api/me', { key: member.key })).body['reviews']).toEqual([]);
    const decide = (key: string) => world.ask('POST', `/api/review/${id}`, { key, body: { outcome: 'deliver' } });
    expect(statusAndReason(await decide(member.key))).toEqual([404, 'payment_not_found']);
    expect(await decide(keeper.key)).toMatchObject({
      status: 200,
      body: { payment: { payment_status: 'completed', outcome: 'deliver', listing_id: null } },
    });
    const [event] = await stage.newestEvents();
    expect(event).toMatchObject({
      kind: 'moderation',
      actor: keeper.handle,
      detail: { action: 'fee_review', payment_id: id, outcome: 'deliver' },
    });
    expect(await creditsOf(member)).toBe(1);
    const answers = await Promise.all(Array.from({ length: 8 }, () => listGoods(world, member, newGoods())));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(402)]);
    expect(await creditsOf(member)).toBe(0);
    const late = await list(member, body, paid);
    expect([...statusAndReason(late), late.body['do_not_pay_again']]).toEqual([409, 'transaction_used', true]);
  });

  it('stands in the books with what was received', async () => {
    const { world } = stage;
    const { total } = await world.db.database.one<{ total: bigint }>(
      sql`select sum(value_units)::bigint as total from payment_proofs where tx_hash in (select tx_hash from fees)`,
    );
    const { body } = await world.ask('GET', '/treasury');
    expect(body['fees_collected_usdc']).toBe(Number(total) / 1e6);
  });
});
