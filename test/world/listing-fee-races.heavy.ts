import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { type Answer, type Member, paidUnits, startWorld, type World } from '../support/market-world.ts';
import { fundedWallet, type GoodsBody, listGoods, listPaid, newGoods, signFee } from '../support/trade.ts';

const { treasury, sellerTwo } = WORLD_ACCOUNTS;

let world: World;
let made = 0;

beforeAll(async () => {
  world = await startWorld();
  await world.join('the-keeper');
});
afterAll(() => world?.stop());

/** Creates a merchant. Each one has its own daily limit of guard runs. */
function merchant(): Promise<Member> {
  made += 1;
  return world.join(`merchant-${made}`);
}

async function countOf(table: 'payments' | 'listings' | 'fees', member: Member): Promise<number> {
  const tables = { payments: sql`payments`, listings: sql`listings`, fees: sql`fees` };
  const row = await world.db.database.one<{ found: bigint }>(
    sql`select count(*) as found from ${tables[table]} where merchant_id = ${member.id}`,
  );
  return Number(row.found);
}

/** Expects one payment in flight. Requests that arrive while it is verified wait, and no client is told to pay again. */
function expectUndecided(answers: Answer[]): void {
  const reasons = answers.map(({ body }) => body['reason'] ?? body['status']);
  expect(reasons).toContain('payment_pending');
  for (const { body } of answers) {
    expect(['payment_pending', 'verification_pending']).toContain(body['reason'] ?? body['status']);
    expect(body['do_not_pay_again'], JSON.stringify(body)).toBe(true);
  }
}

async function expectOneListing(member: Member, body: GoodsBody): Promise<void> {
  await world.finalize();
  const answers = await Promise.all([1, 2, 3, 4].map(() => listGoods(world, member, body)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201]);
  expect(new Set(answers.map((answer) => answer.body['listing_id'])).size).toBe(1);
  expect(await countOf('listings', member)).toBe(1);
  expect(await countOf('fees', member)).toBe(1);
}

describe('of requests that come at once', () => {
  it('50 with the same body and proof are one settlement, one fee and one listing', async () => {
    const member = await merchant();
    const payer = await fundedWallet(world);
    const body = newGoods();
    const proof = await signFee(world, payer);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => listGoods(world, member, body, { proof: n % 2 ? proof.v1 : proof.v2 })),
    );
    expectUndecided(answers);
    expect(await countOf('payments', member)).toBe(1);
    await expectOneListing(member, body);
    expect(await paidUnits(world.chain, payer.address, treasury.address)).toEqual([1_000_000n]);
  });

  it('two with the same body and proofs of two wallets take one fee', async () => {
    const member = await merchant();
    const payers = [await fundedWallet(world), await fundedWallet(world)];
    const body = newGoods();
    const proofs = await Promise.all(payers.map((payer) => signFee(world, payer)));
    const answers = await Promise.all(proofs.map((proof) => listGoods(world, member, body, { proof: proof.v2 })));
    expectUndecided(answers);
    const again = await Promise.all(proofs.map((proof) => listGoods(world, member, body, { proof: proof.v1 })));
    expect(again.map(({ status }) => status)).toEqual([202, 202]);
    await expectOneListing(member, body);
    const paid = await Promise.all(payers.map(({ address }) => paidUnits(world.chain, address, treasury.address)));
    expect(paid.flat()).toEqual([1_000_000n]);
  });

  it('two bodies with the same goods take one fee; the other is refused before anything is taken', async () => {
    const member = await merchant();
    const payers = [await fundedWallet(world), await fundedWallet(world)];
    const body = newGoods();
    const bodies = [body, { ...body, price_usdc: 9 }];
    const answers = await Promise.all(
      bodies.map(async (each, n) => {
        const payer = payers[n] ?? WORLD_ACCOUNTS.stranger;
        return listGoods(world, member, each, { proof: (await signFee(world, payer)).v1 });
      }),
    );
    expect(answers.map(({ status, body: said }) => [status, said['reason']]).sort()).toEqual([
      [202, undefined],
      [409, 'duplicate_listing'],
    ]);
    const paid = await Promise.all(payers.map(({ address }) => paidUnits(world.chain, address, treasury.address)));
    expect(paid.flat()).toEqual([1_000_000n]);
    expect(await countOf('payments', member)).toBe(1);
  });

  it('two of different merchants with the same long goods take one fee', async () => {
    const members = [await merchant(), await merchant()];
    const payer = await fundedWallet(world);
    const body = newGoods({ artifact: `${'shared '.repeat(40)}${made}` });
    const answers = await Promise.all(
      members.map(async (member) => listGoods(world, member, body, { proof: (await signFee(world, payer)).v2 })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 409]);
    expect(await paidUnits(world.chain, payer.address, treasury.address)).toEqual([1_000_000n]);
  });

  it('no more than five fees of one merchant are undecided; the next is refused and nothing is taken of it', async () => {
    const member = await merchant();
    const payer = await fundedWallet(world);
    const requests = await Promise.all(
      Array.from({ length: 8 }, async () => ({ body: newGoods(), proof: (await signFee(world, payer)).v1 })),
    );
    const answers = await Promise.all(requests.map(({ body, proof }) => listGoods(world, member, body, { proof })));
    const refused = answers.filter(({ status }) => status !== 202);
    expect(refused.map(({ status, body }) => [status, body['reason']])).toEqual(
      Array.from({ length: 3 }, () => [409, 'too_many_open_fees']),
    );
    expect(await paidUnits(world.chain, payer.address, treasury.address)).toHaveLength(5);
    expect(await countOf('payments', member)).toBe(5);
    await world.finalize();
    await world.running.payments.reconcileOnce();
    expect(await countOf('listings', member)).toBe(5);
    const late = await Promise.all(requests.map(({ body, proof }) => listGoods(world, member, body, { proof })));
    expect(late.map(({ status }) => status).sort()).toEqual([201, 201, 201, 201, 201, 202, 202, 202]);
  });

  it('listings of many merchants get ids without holes, in one order', async () => {
    const members = await Promise.all(Array.from({ length: 6 }, merchant));
    const before = await world.db.database.one<{ top: bigint }>(sql`select coalesce(max(id), 0) as top from listings`);
    const payer = await fundedWallet(world);
    const listed = await Promise.all(
      members.map((member) => listPaid(world, member, newGoods({ seller_wallet: sellerTwo.address }), payer)),
    );
    const ids = listed.map(({ body }) => BigInt(Number(body['listing_id']))).sort((a, b) => Number(a - b));
    expect(ids).toEqual(members.map((_, n) => before.top + BigInt(n + 1)));
  });
});
