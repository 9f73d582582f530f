import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { usdcAdmin } from '../support/chain.ts';
import { type Member, startWorld, type World } from '../support/market-world.ts';
import { seedFee } from '../support/seed.ts';
import { fundedWallet, listGoods, newGoods, signFee } from '../support/trade.ts';

let world: World;
let made = 0;
beforeAll(async () => {
  world = await startWorld({ limits: { guard_runs_per_merchant_day: 2, open_fee_attempts_per_merchant: 1 } });
  await world.join('the-keeper');
});
afterAll(() => world?.stop());
const seller = (): Promise<Member> => {
  made += 1;
  return world.join(`seller-${made}x`);
};

describe('fees, in its corners', () => {
  it('who was asked to pay is not then refused for want of guard runs', async () => {
    const member = await seller();
    const body = newGoods();
    await listGoods(world, member, newGoods(), { dryRun: true });
    expect((await listGoods(world, member, body)).status).toBe(402);
    const paid = await listGoods(world, member, body, { proof: (await signFee(world, await fundedWallet(world))).v2 });
    expect([paid.status, paid.body['reason']]).toEqual([202, undefined]);
  });

  it('who has as many open fees as allowed is told so before being asked to pay', async () => {
    const member = await seller();
    const first = await listGoods(world, member, newGoods(), {
      proof: (await signFee(world, await fundedWallet(world))).v2,
    });
    expect(first.status).toBe(202);
    const second = await listGoods(world, member, newGoods());
    expect([second.status, second.body['reason']]).toEqual([409, 'too_many_open_fees']);
  });

  it('a stored body that the rules of today refuse makes the paid fee a credit', async () => {
    const member = await seller();
    const body = newGoods();
    expect(
      (await listGoods(world, member, body, { proof: (await signFee(world, await fundedWallet(world))).v2 })).status,
    ).toBe(202);
    await world.db.database.run(sql`update pending_listings set body = convert_to('{"title":"x"}', 'UTF8')`);
    await world.finalize();
    await world.running.payments.reconcileOnce();
    const me = await world.ask('GET', '/api/me', { key: member.key });
    expect(me.body['credits']).toBe(1);
  });

  it('answers about a fee carry the settlement and Retry-After', async () => {
    await world.db.database.run(sql`delete from pending_listings`);
    const member = await seller();
    const body = newGoods();
    const pending = await listGoods(world, member, body, {
      proof: (await signFee(world, await fundedWallet(world))).v2,
    });
    await world.finalize();
    const done = await listGoods(world, member, body);
    expect(done.status).toBe(201);
    expect({
      retryAfter: pending.headers.get('retry-after'),
      pending: pending.headers.has('x-payment-response'),
      made: done.headers.has('x-payment-response'),
    }).toEqual({ retryAfter: String(pending.body['retry_after_seconds']), pending: true, made: true });
  });

  it('an old unpaid proof gets no 402 while a credit exists', async () => {
    const member = await seller();
    const body = newGoods();
    const payer = await fundedWallet(world);
    const proof = await signFee(world, payer);
    const admin = usdcAdmin(world.chain);
    await admin.blacklist(payer.address);
    expect((await listGoods(world, member, body, { proof: proof.v2 })).status).toBe(402);
    await admin.cancelAuthorization(WORLD_ACCOUNTS.stranger, payer, proof.authorization.nonce);
    await world.finalize();
    await world.running.payments.reconcileOnce();
    await seedFee(world.db.database, member.id);
    const answer = await listGoods(world, member, body, { proof: proof.v2 });
    expect(answer.status).toBe(201);
  });

  it('a duplicate with a proof: no row, so do_not_pay_again is false', async () => {
    const [one, two] = [await seller(), await seller()];
    const artifact = 'long '.repeat(60);
    const body = newGoods({ artifact });
    await seedFee(world.db.database, one.id);
    expect((await listGoods(world, one, body)).status).toBe(201);
    const proof = await signFee(world, await fundedWallet(world));
    const answer = await listGoods(world, two, { ...body, description: 'other' }, { proof: proof.v2 });
    expect([answer.status, answer.body['reason'], answer.body['do_not_pay_again']]).toEqual([
      409,
      'duplicate_listing',
      false,
    ]);
  });
});
