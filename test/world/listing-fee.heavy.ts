import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checksummed } from '../../src/contract/chain-values.ts';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { usdcAdmin } from '../support/chain.ts';
import { countRows } from '../support/database.ts';
import { type Answer, BASE_URL, type Member, paidUnits, startWorld, type World } from '../support/market-world.ts';
import { fundedWallet, listGoods, listPaid, newGoods, signFee } from '../support/trade.ts';

const { treasury } = WORLD_ACCOUNTS;

let world: World;
let keeper: Member;
let seller: Member;

beforeAll(async () => {
  world = await startWorld();
  keeper = await world.join('the-keeper');
  seller = await world.join('seller-one');
});
afterAll(() => world?.stop());

async function newestEvents(): Promise<Record<string, unknown>[]> {
  await world.running.eventsSettled();
  const { body } = await world.ask('GET', '/api/events');
  return body['events'] as Record<string, unknown>[];
}

const statusAndReason = ({ status, body }: Answer) => [status, body['reason'] ?? body['status']];

describe('the listing fee by x402', () => {
  it('is asked for with one 402 that names the treasury and 1 USDC in both versions', async () => {
    const before = await countRows(world.db.database);
    const answer = await listGoods(world, seller, newGoods());
    expect(answer.status).toBe(402);
    const payTo = checksummed(treasury.address);
    const resource = `${BASE_URL}/api/listing`;
    expect(answer.body).toMatchObject({
      x402Version: 1,
      reason: 'payment_required',
      do_not_pay_again: false,
      accepts: [{ network: 'base', maxAmountRequired: '1000000', payTo, resource, maxTimeoutSeconds: 120 }],
    });
    const header = JSON.parse(Buffer.from(answer.headers.get('payment-required') ?? '', 'base64').toString());
    expect(header).toMatchObject({
      x402Version: 2,
      resource: { url: resource },
      accepts: [{ network: 'eip155:8453', amount: '1000000', payTo }],
    });
    expect(await countRows(world.db.database)).toEqual(before);
  });

  for (const version of ['v1', 'v2'] as const) {
    it(`puts the goods on the shelf once it is final, and is taken once (${version})`, async () => {
      const payer = await fundedWallet(world);
      const body = newGoods({ artifact: `goods of ${version}` });
      const proof = await signFee(world, payer);
      const other = await signFee(world, payer);
      const first = await listGoods(world, seller, body, { proof: proof[version] });
      expect(statusAndReason(first)).toEqual([202, 'payment_pending']);
      for (const sent of [proof.v1, proof.v2, other.v1, other.v2, undefined]) {
        const again = await listGoods(world, seller, body, sent === undefined ? {} : { proof: sent });
        expect(statusAndReason(again)).toEqual([202, 'payment_pending']);
        expect(again.body).toMatchObject({ do_not_pay_again: true, retry: 'same_request' });
        expect(again.body).not.toHaveProperty('listing_id');
      }
      await world.finalize();
      const made = await listGoods(world, seller, body, { proof: other[version] });
      expect(made.status).toBe(201);
      const id = made.body['listing_id'];
      expect(made.body).toMatchObject({
        url: `${BASE_URL}/api/listing/${id}`,
        listing: { id, merchant: seller.handle, title: body.title, state: 'live', price_usdc: 2.5 },
        fee: { amount_usdc: 1, verified_via: 'x402', tx_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/) },
      });
      expect(JSON.stringify(made.body)).not.toContain(body.artifact);
      for (const sent of [proof.v1, other.v2, undefined]) {
        const later = await listGoods(world, seller, body, sent === undefined ? {} : { proof: sent });
        expect([later.status, later.body['listing_id']]).toEqual([200, id]);
      }
      expect(await paidUnits(world.chain, payer.address, treasury.address)).toEqual([1_000_000n]);
    });
  }

  it('is written into the books and the log', async () => {
    const made = await listPaid(world, seller, newGoods({ price_usdc: 7, aisle: 'tools' }), await fundedWallet(world));
    const id = made.body['listing_id'];
    const { body } = await world.ask('GET', '/treasury');
    expect(body).toMatchObject({
      usdc_balance_onchain: expect.any(Number),
    });
    const [fee] = body['recent_fees'] as Record<string, unknown>[];
    expect(fee).toMatchObject({
      listing_id: id,
      merchant: seller.handle,
      amount_usdc: 1,
      verified_via: 'x402',
      tx_hash: (made.body['fee'] as Record<string, unknown>)['tx_hash'],
    });
    expect(body['fees_collected_usdc']).toBe(body['fees_count']);
    expect((await newestEvents())[0]).toMatchObject({
      kind: 'listing',
      actor: seller.handle,
      detail: { listing_id: id, price_usdc: 7, aisle: 'tools' },
    });
  });

  it('finishes by itself once final: the merchant need not come back, and is then told with one 201', async () => {
    const payer = await fundedWallet(world);
    const body = newGoods();
    const proof = await signFee(world, payer);
    expect((await listGoods(world, seller, body, { proof: proof.v1 })).status).toBe(202);
    await world.finalize();
    await world.running.payments.reconcileOnce();
    await world.running.eventsSettled();
    const shelf = await world.ask('GET', '/api/shelves?limit=1');
    expect(shelf.body['listings']).toMatchObject([{ title: body.title }]);
    const answers = await Promise.all(Array.from({ length: 8 }, () => listGoods(world, seller, body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
    expect(new Set(answers.map((answer) => answer.body['listing_id'])).size).toBe(1);
  });

  it('that ended unpaid leaves neither body nor place behind, and the same body may be paid for again', async () => {
    const payer = await fundedWallet(world);
    const admin = usdcAdmin(world.chain);
    const body = newGoods();
    const before = await countRows(world.db.database);
    await admin.blacklist(payer.address);
    const proof = await signFee(world, payer);
    const stopped = await listGoods(world, seller, body, { proof: proof.v2 });
    expect(statusAndReason(stopped)).toEqual([402, 'payment_rejected']);
    expect(stopped.body).toMatchObject({ do_not_pay_again: true, retry: 'same_proof' });
    await admin.cancelAuthorization(WORLD_ACCOUNTS.stranger, payer, proof.authorization.nonce);
    await world.finalize();
    const ended = await listGoods(world, seller, body, { proof: proof.v2 });
    expect(statusAndReason(ended)).toEqual([402, 'authorization_lapsed']);
    expect(ended.body).toMatchObject({ do_not_pay_again: false, accepts: [{ maxAmountRequired: '1000000' }] });
    expect(await countRows(world.db.database)).toEqual({ ...before, payments: (before['payments'] ?? 0n) + 1n });
    await admin.unBlacklist(payer.address);
    expect((await listPaid(world, seller, body, payer)).status).toBe(201);
    expect(await paidUnits(world.chain, payer.address, treasury.address)).toEqual([1_000_000n]);
  });
});

describe('the maintainer', () => {
  it('lists free, told by maintainer_seed and by no listing event, with no line in the books', async () => {
    const books = await world.ask('GET', '/treasury');
    const body = newGoods();
    const made = await listGoods(world, keeper, body);
    expect(made.status).toBe(201);
    expect(made.body['fee']).toEqual({ amount_usdc: 0, tx_hash: null, verified_via: 'free' });
    const again = await listGoods(world, keeper, body);
    expect([again.status, again.body['listing_id']]).toEqual([200, made.body['listing_id']]);
    const told = (await newestEvents()).filter(
      ({ detail }) => (detail as Record<string, unknown>)['listing_id'] === made.body['listing_id'],
    );
    expect(told.map(({ kind, actor }) => [kind, actor])).toEqual([['maintainer_seed', keeper.handle]]);
    const after = await world.ask('GET', '/treasury');
    expect(after.body['fees_count']).toBe(books.body['fees_count']);
  });
});
