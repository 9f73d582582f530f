import { describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { type Answer, paidUnits } from '../support/market-world.ts';
import { fundedWallet, listGoods, newGoods, signFee } from '../support/trade.ts';
import { FEE, feeStage, statusAndReason } from './fee-stage.ts';

const { treasury } = WORLD_ACCOUNTS;
const stage = feeStage();
const { finalize, list, payFee, merchant, wallet, countOf, creditsOf } = stage;

const PENDING = [202, 'payment_pending'];
const statuses = (answers: Answer[]): unknown[][] =>
  answers.map(statusAndReason).sort((a, b) => (String(a) < String(b) ? -1 : 1));
const times = <T>(count: number, act: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => act(n)));

describe('of requests that come at once', () => {
  it('50 with one final transfer are one listing, and none is sent away', async () => {
    const member = await merchant();
    const body = newGoods();
    const paid = await payFee(member);
    await finalize();
    const answers = await times(50, () => list(member, body, paid));
    expect(statuses(answers)).toEqual([...Array(49).fill([200, 'ok']), [201, 'ok']]);
    expect(new Set(answers.map((answer) => answer.body['listing_id'])).size).toBe(1);
    expect(await countOf('listings', member)).toBe(1);
    expect(await countOf('payments', member)).toBe(1);
    expect(await countOf('fees', member)).toBe(1);
  });

  it('50 with one transfer that is not final are one payment, whatever else they carry', async () => {
    const member = await merchant();
    const body = newGoods();
    const paid = await payFee(member);
    const proof = await signFee(stage.world, paid.payer);
    const ways = [
      () => list(member, body, paid),
      () => list(member, body, paid),
      () => list(member, body, { ...paid, txHash: paid.txHash.toUpperCase().replace('0X', '0x') }),
    ];
    const first = await list(member, body, paid);
    expect(statusAndReason(first)).toEqual(PENDING);
    const answers = await times(50, (n) =>
      n % 4 === 3
        ? listGoods(stage.world, member, body, { proof: proof.v1 })
        : (ways[n % 4] ?? (() => list(member, body, paid)))(),
    );
    expect(statuses(answers)).toEqual(Array(50).fill(PENDING));
    await finalize();
    expect(statuses(await times(8, () => list(member, body, paid)))).toEqual([
      ...Array(7).fill([200, 'ok']),
      [201, 'ok'],
    ]);
    expect(await paidUnits(stage.world.chain, paid.payer.address, treasury.address)).toEqual([FEE]);
    expect(await countOf('payments', member)).toBe(1);
  });

  it('two intents and an authorization for the same goods take one of them; the others are kept for other goods', async () => {
    const member = await merchant();
    const body = newGoods();
    const paid = [await payFee(member), await payFee(member, { named: await wallet() })];
    const payer = await fundedWallet(stage.world);
    const proof = await signFee(stage.world, payer);
    const answers = await times(12, async (n) => {
      const one = paid[n % 3];
      return one ? list(member, body, one) : listGoods(stage.world, member, body, { proof: proof.v2 });
    });
    for (const answer of answers) {
      expect([202, 503], JSON.stringify(answer.body)).toContain(answer.status);
      expect(answer.body['do_not_pay_again']).toBe(true);
    }
    expect(await countOf('payments', member)).toBe(1);
    await finalize();
    await stage.world.running.payments.reconcileOnce();
    expect(await countOf('listings', member)).toBe(1);
    expect(await countOf('fees', member)).toBe(1);
    const settled = await paidUnits(stage.world.chain, payer.address, treasury.address);
    const rest = await Promise.all(paid.map((one) => list(member, newGoods(), one)));
    expect(statuses(rest)).toEqual(
      settled.length === 1
        ? Array(2).fill([201, 'ok'])
        : [
            [201, 'ok'],
            [409, 'transaction_used'],
          ],
    );
    expect(await countOf('fees', member)).toBe(settled.length === 1 ? 3 : 2);
  });

  it('eight bodies with one fee make one listing; the others wait, then learn that it is spent', async () => {
    const member = await merchant();
    const paid = await payFee(member);
    const bodies = Array.from({ length: 8 }, () => newGoods());
    const answers = await Promise.all(bodies.map((body) => list(member, body, paid)));
    expect(statuses(answers)).toEqual([PENDING, ...Array(7).fill([409, 'payment_undecided'])]);
    for (const { status, body } of answers) {
      expect(body['do_not_pay_again']).toBe(true);
      if (status === 409) expect(body).toMatchObject({ intent_id: paid.intent.id });
    }
    expect(await countOf('pending_listings', member)).toBe(1);
    await finalize();
    await stage.world.running.payments.reconcileOnce();
    const later = await Promise.all(bodies.map((body) => list(member, body, paid)));
    expect(statuses(later)).toEqual([[201, 'ok'], ...Array(7).fill([409, 'transaction_used'])]);
    for (const { body } of later.filter(({ status }) => status === 409)) expect(body['do_not_pay_again']).toBe(true);
    expect(await countOf('listings', member)).toBe(1);
  });

  it('two bodies with the same goods hold one place; the transfer of the other serves for other goods', async () => {
    const members = [await merchant(), await merchant()];
    const body = newGoods({ artifact: 'shared goods '.repeat(30) });
    const paid = await Promise.all(members.map((member) => payFee(member)));
    const answers = await Promise.all(
      members.map((member, n) => list(member, { ...body, price_usdc: n + 1 }, paid[n] ?? expect.fail())),
    );
    expect(statuses(answers)).toEqual([PENDING, [409, 'duplicate_listing']]);
    const loser = answers[0]?.status === 409 ? 0 : 1;
    expect(answers[loser]?.body['do_not_pay_again']).toBe(true);
    const [member, own] = [members[loser] ?? expect.fail(), paid[loser] ?? expect.fail()];
    expect(await countOf('payments', member)).toBe(0);
    await finalize();
    const other = await list(member, newGoods(), own);
    expect(other).toMatchObject({ status: 201, body: { fee: { tx_hash: own.txHash } } });
  });
});

describe('one transfer', () => {
  it('that two merchants claim with signatures of the same wallet pays for one of them', async () => {
    const members = [await merchant(), await merchant()];
    const payer = await wallet();
    const paid = await Promise.all(members.map((member) => payFee(member, { payer, units: FEE })));
    const txHash = paid[0]?.txHash ?? expect.fail();
    const bodies = members.map(() => newGoods());
    const claimAll = (): Promise<Answer[]> =>
      Promise.all(
        members.map((member, n) => list(member, bodies[n] ?? newGoods(), { ...(paid[n] ?? expect.fail()), txHash })),
      );
    expect(statuses(await claimAll())).toEqual([PENDING, PENDING]);
    await finalize();
    const answers = await claimAll();
    expect(statuses(answers)).toEqual([
      [201, 'ok'],
      [409, 'transaction_used'],
    ]);
    const loser = answers[0]?.status === 409 ? 0 : 1;
    expect(answers[loser]?.body['do_not_pay_again']).toBe(true);
    const member = members[loser] ?? expect.fail();
    expect([await countOf('fees', member), await countOf('artifact_guards', member)]).toEqual([0, 0]);
    // The losing merchant's wallet also sent a second transfer in time, and that one fits.
    const own = { ...(paid[loser] ?? expect.fail()), txHash: paid[1]?.txHash ?? expect.fail() };
    expect(statusAndReason(await list(member, bodies[loser] ?? newGoods(), own))).toEqual([201, 'ok']);
  });

  it('that a stranger reads in the books pays nothing for the stranger, before it is final or after', async () => {
    const [member, thief] = [await merchant(), await merchant()];
    const { world } = stage;
    const body = newGoods();
    const payer = await wallet();
    const paid = await payFee(member, { payer });
    const before = await payFee(thief);
    const named = await payFee(thief, { named: await wallet() });
    const own = newGoods();
    const early = await list(thief, own, { ...before, txHash: paid.txHash });
    expect(statusAndReason(early)).toEqual(PENDING);
    // The payer signed another challenge, so the signature is invalid for the thief's.
    const stolen = await list(thief, newGoods(), { ...named, signature: paid.signature, txHash: paid.txHash });
    expect([202, 422]).toContain(stolen.status);
    expect((await list(member, body, paid)).status).toBe(202);
    await finalize();
    const foreign = await list(thief, newGoods(), { ...named, signature: paid.signature, txHash: paid.txHash });
    expect(statusAndReason(foreign)).toEqual([422, 'signature_invalid']);
    const wrong = await list(thief, own, { ...before, txHash: paid.txHash });
    expect(statusAndReason(wrong)).toEqual([422, 'wrong_payer']);
    await world.running.payments.reconcileOnce();
    const { body: books } = await world.ask('GET', '/treasury');
    const hashes = (books['recent_fees'] as { tx_hash: string }[]).map(({ tx_hash }) => tx_hash);
    expect(hashes).toContain(paid.txHash);
    for (const txHash of hashes) {
      const late = await list(thief, newGoods(), { ...before, txHash });
      expect([...statusAndReason(late), late.body['do_not_pay_again']]).toEqual([409, 'transaction_used', true]);
    }
    expect(await countOf('fees', thief)).toBe(0);
    expect((await listGoods(world, member, body)).status).toBe(201);
  });

  it('that was made by x402 for one listing is no transfer for another, nor for the same', async () => {
    const member = await merchant();
    const { world } = stage;
    const body = newGoods();
    const payer = await wallet();
    const proof = await signFee(world, payer);
    const intent = await payFee(member, { payer });
    const first = await listGoods(world, member, body, { proof: proof.v1 });
    expect(statusAndReason(first)).toEqual(PENDING);
    const { tx_hash: txHash } = first.body['payment'] as { tx_hash: string };
    const early = newGoods();
    expect(statusAndReason(await list(member, early, { ...intent, txHash }))).toEqual(PENDING);
    // While the x402 payment is undecided, the same body gets that payment as its answer and the claim is not examined.
    expect((await list(member, body, { ...intent, txHash })).body['payment']).toMatchObject({ tx_hash: txHash });
    await finalize();
    const late = await list(member, early, { ...intent, txHash });
    expect([...statusAndReason(late), late.body['do_not_pay_again']]).toEqual([409, 'transaction_used', true]);
    expect((await listGoods(world, member, body)).status).toBe(201);
    expect(statusAndReason(await list(member, early, { ...intent, txHash }))).toEqual([409, 'transaction_used']);
    expect((await list(member, early, intent)).status).toBe(201);
    expect(await creditsOf(member)).toBe(0);
    expect(await countOf('fees', member)).toBe(2);
  });
});
