import sql from 'sql-template-tag';
import { afterAll, describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { claim, createWorldTime, openIntent, secondOf, signChallenge, statusBy } from '../support/direct.ts';
import { paidUnits, signProof } from '../support/market-world.ts';
import { startRpcProxy } from '../support/rpc-proxy.ts';
import { PRICE, testTrade } from '../support/trade.ts';
import { createContractWallet } from './contract-wallet.ts';
import { directCases } from './direct-cases.ts';

const time = createWorldTime();
const wire = await startRpcProxy();
// Registered first, because hooks registered last run first.
afterAll(() => wire.close());
const trade = testTrade({ clock: time.clock, rpcUrl: wire.at, chain: { finalityBlocks: 16 } });
const { world, buyer, seller } = trade;
const { stranger } = WORLD_ACCOUNTS;
const { begin, pay, claimWith, statusOf, countOf } = directCases(trade);

const finalize = (): Promise<void> => world.chain.mine(18);

describe('at once', () => {
  it('ten requests make one claim, one purchase and one delivery, and none is turned away', async () => {
    const given = await begin();
    const txHash = await pay(given);
    const spelled = (n: number): Hex => (n % 2 === 0 ? txHash : (`0x${txHash.slice(2).toUpperCase()}` as Hex));
    const ten = () => Promise.all(Array.from({ length: 10 }, (_, n) => claimWith(given, spelled(n))));
    expect((await ten()).map(({ status }) => status)).toEqual(Array(10).fill(202));
    await finalize();
    const delivered = await ten();
    expect(delivered.map(({ status, body }) => [status, body['artifact']])).toEqual(
      Array(10).fill([200, given.artifact]),
    );
    expect(await countOf(given.id)).toEqual({ payments: 1n, purchases: 1n });
    const sales = await world.db.database.one(sql`
      select count(*) as sales from events where kind = 'sale' and convert_from(canonical, 'utf8') like ${`%"listing_id":${given.id},%`}`);
    expect(sales).toEqual({ sales: 1n });
  });

  it('ten claims under two wallets are one claim of the wallet that paid, in any order', async () => {
    const given = await begin();
    const byOther = await signChallenge(stranger, given.intent);
    const txHash = await pay(given);
    const signatures = Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? given.signature : byOther));
    const early = await Promise.all(signatures.map((signature) => claimWith(given, txHash, signature)));
    expect(early.map(({ status }) => status)).toEqual(Array(10).fill(202));
    await finalize();
    const late = await Promise.all(signatures.map((signature) => claimWith(given, txHash, signature)));
    for (const answer of late) expect([200, 422]).toContain(answer.status);
    expect((await claimWith(given, txHash)).status).toBe(200);
    expect((await countOf(given.id)).purchases).toBe(1n);
  });

  it('ten first claims of a final transfer are ten deliveries of one purchase', async () => {
    const given = await begin();
    const txHash = await pay(given);
    await finalize();
    const answers = await Promise.all(Array.from({ length: 10 }, () => claimWith(given, txHash)));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(await countOf(given.id)).toEqual({ payments: 1n, purchases: 1n });
  });

  it('the pass that ends a claim under a request does not give its transaction to another payer', async () => {
    const { id, artifact } = await trade.goods();
    const wallet = await createContractWallet(world.chain, PRICE);
    await wallet.deploy();
    await finalize();
    const intent = await openIntent(world, buyer, id, { payer_wallet: wallet.address });
    const txHash = await wallet.transfer({ to: intent.seller_wallet, units: PRICE });
    const signature = await signChallenge(wallet.owner, intent);
    expect((await claim(world, buyer, id, { intent, txHash, signature })).status).toBe(202);
    await finalize();
    const { held, release } = wire.holdNext('eth_getCode');
    const answer = claim(world, buyer, id, { intent, txHash, signature });
    await held;
    await world.running.payments.reconcileOnce();
    expect(await statusBy(world, { intent_id: intent.id })).toMatchObject({ payment_status: 'completed' });
    release();
    expect(await answer).toMatchObject({ status: 200, body: { artifact } });
  });

  it('one transaction claimed for two listings of one seller pays for one; the other is not asked to pay again', async () => {
    const one = await begin();
    const two = await begin({ payer: one.payer });
    const txHash = await pay(one);
    expect((await Promise.all([claimWith(one, txHash), claimWith(two, txHash)])).map(({ status }) => status)).toEqual([
      202, 202,
    ]);
    await finalize();
    const answers = await Promise.all([claimWith(one, txHash), claimWith(two, txHash)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const loser = answers[0]?.status === 409 ? one : two;
    for (let again = 0; again < 2; again += 1) {
      expect(await claimWith(loser, txHash)).toMatchObject({
        status: 409,
        body: { reason: 'transaction_used', do_not_pay_again: true, retry: 'never' },
      });
    }
    expect((await countOf(one.id)).purchases + (await countOf(two.id)).purchases).toBe(1n);
    // The other goods can still be bought with a separate transfer.
    const second = await pay(loser);
    await finalize();
    expect((await claimWith(loser, second)).status).toBe(200);
  });

  it('one transaction claimed by two buyers is one purchase, whichever goods they want', async () => {
    const goods = await trade.goods();
    const first = await begin({ goods });
    const others = [
      await begin({ member: await world.join('buyer-second'), payer: first.payer, goods }),
      await begin({ member: await world.join('buyer-elsewhere'), payer: first.payer }),
    ];
    const txHash = await pay(first);
    const early = await Promise.all([first, ...others].map((given) => claimWith(given, txHash)));
    // Both claims name the same goods and wallet, so one must wait for the other.
    expect(
      early
        .slice(0, 2)
        .map(({ status }) => status)
        .sort(),
    ).toEqual([202, 409]);
    const waiting = early.find(({ status }) => status === 409);
    expect(waiting?.body).toMatchObject({ reason: 'payment_undecided', do_not_pay_again: true });
    // The answer reveals neither the other buyer nor the other intent.
    for (const field of ['payment', 'intent_id']) expect(waiting?.body).not.toHaveProperty(field);
    await finalize();
    const late = await Promise.all([first, ...others].map((given) => claimWith(given, txHash)));
    expect(late.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    for (const answer of late) expect(answer.body['do_not_pay_again']).toBe(true);
    const again = await Promise.all([first, ...others].map((given) => claimWith(given, txHash)));
    expect(again.map(({ status }) => status)).toEqual(late.map(({ status }) => status));
    expect(await paidUnits(world.chain, first.payer.address, first.intent.seller_wallet.toLowerCase() as Hex)).toEqual([
      PRICE,
    ]);
  });

  it('x402 and a claim of one buyer: one of them opens, the other is told to wait, and one is paid', async () => {
    const listing = await trade.goods();
    const given = await begin({ goods: listing });
    const txHash = await pay(given);
    const fresh = await trade.wallet();
    const proof = await signProof(world.chain, fresh, listing.terms);
    const [claimed, bought] = await Promise.all([
      claimWith(given, txHash),
      world.buy(listing.id, { key: buyer.key, proof: proof.v2 }),
    ]);
    expect([claimed.body['do_not_pay_again'], bought.body['do_not_pay_again']]).toEqual([true, true]);
    await finalize();
    await world.running.payments.reconcileOnce();
    const late = [await claimWith(given, txHash), await world.buy(listing.id, { key: buyer.key })];
    expect((await countOf(listing.id)).purchases).toBe(1n);
    const settled = await paidUnits(world.chain, fresh.address, listing.terms.payTo);
    if (settled.length === 0) {
      expect(late.map(({ status }) => status)).toEqual([200, 200]);
    } else {
      // The transfer was made anyway, so a person must decide on it.
      expect(late).toMatchObject([{ status: 422, body: { reason: 'already_bought' } }, { status: 200 }]);
    }
  });
});

describe('goods that were bought meanwhile', () => {
  it('a fitting transfer is reviewed as already bought; taken as paid, it sells nothing twice', async () => {
    const listing = await trade.goods();
    const given = await begin({ goods: listing });
    const proof = await signProof(world.chain, given.payer, listing.terms);
    expect((await world.buy(listing.id, { key: buyer.key, proof: proof.v2 })).status).toBe(202);
    const txHash = await pay(given);
    expect(await claimWith(given, txHash)).toMatchObject({ status: 409, body: { reason: 'payment_undecided' } });
    await finalize();
    expect((await world.buy(listing.id, { key: buyer.key })).status).toBe(200);
    const review = await claimWith(given, txHash);
    expect(review).toMatchObject({
      status: 422,
      body: { reason: 'already_bought', payment_status: 'needs_review', do_not_pay_again: true },
    });
    const { id } = review.body['payment'] as { id: number };
    const decided = await world.ask('POST', `/api/review/${id}`, { key: seller.key, body: { outcome: 'deliver' } });
    expect(decided).toMatchObject({ status: 200, body: { payment: { payment_status: 'completed' } } });
    expect(await claimWith(given, txHash)).toMatchObject({
      status: 200,
      body: { artifact: listing.artifact, purchase: { verified_via: 'x402' } },
    });
    expect((await countOf(listing.id)).purchases).toBe(1n);
  });

  it('by the same wallet for another merchant as well; and the transaction that bought them is used', async () => {
    const goods = await trade.goods();
    const first = await begin({ member: await world.join('buyer-of-wallet'), goods });
    const given = await begin({ payer: first.payer, goods });
    const bought = await pay(first);
    const second = await pay(first);
    await finalize();
    expect((await claimWith(first, bought)).status).toBe(200);
    expect(await claimWith(given, bought)).toMatchObject({
      status: 409,
      body: { reason: 'transaction_used', do_not_pay_again: true },
    });
    expect(await claimWith(given, second)).toMatchObject({ status: 422, body: { reason: 'already_bought' } });
  });
});

it('a failure of ours never sounds as if nothing had been paid', async () => {
  const given = await begin();
  const txHash = await pay(given);
  await world.db.database.run(sql`alter table claim_hashes rename to claim_hashes_away`);
  const failed = await claimWith(given, txHash);
  await world.db.database.run(sql`alter table claim_hashes_away rename to claim_hashes`);
  expect(failed).toMatchObject({ status: 500, body: { reason: 'internal_error', do_not_pay_again: true } });
  expect((await claimWith(given, txHash)).status).toBe(202);
});

describe('while the chain cannot be read', () => {
  it('a claim is kept: 503, and the pass delivers it when the chain is back', async () => {
    const given = await begin();
    const txHash = await pay(given);
    await finalize();
    wire.silence(true);
    const kept = await claimWith(given, txHash);
    const noIntent = await world.ask('POST', `/api/purchase-intent/${(await trade.goods()).id}`, {
      key: buyer.key,
      body: {},
    });
    wire.silence(false);
    expect(kept).toMatchObject({
      status: 503,
      body: { reason: 'payment_preserved', do_not_pay_again: true, retry: 'same_request' },
    });
    expect(Number(kept.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(noIntent).toMatchObject({ status: 503, body: { reason: 'payment_check_unavailable' } });
    await world.running.payments.reconcileOnce();
    expect(await statusOf(given)).toMatchObject({ payment_status: 'completed' });
    expect(await claimWith(given, txHash)).toMatchObject({ status: 200, body: { artifact: given.artifact } });
  });

  it('nor is the end of a window believed that no other provider has seen', async () => {
    const given = await begin();
    const txHash = await pay(given);
    wire.silence(true);
    expect((await claimWith(given, txHash)).status).toBe(503);
    await time.moveTo(world, secondOf(given.intent.expires_at) + 60);
    await finalize();
    await world.running.payments.reconcileOnce();
    expect((await claimWith(given, txHash)).status).toBe(503);
    wire.silence(false);
    expect((await claimWith(given, txHash)).status).toBe(200);
  });
});
