import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { usdcAdmin } from '../support/chain.ts';
import { holdTransactionOpen, untilWaiting } from '../support/listing-life.ts';
import { type Member, signProof } from '../support/market-world.ts';
import { withdrawListing } from '../support/seed.ts';
import { NEWER_GOODS, payFor, purchasesOf, said, versionTrade } from './version-stage.ts';

const { facilitator, forward, world, buyer, goods, wallet, version, bought, remove, withoutTrace } =
  await versionTrade();
const { stranger } = WORLD_ACCOUNTS;

let second: Member;
let outsider: Member;

beforeAll(async () => {
  second = await world.join('buyer-two');
  outsider = await world.join('bought-nothing');
});

describe('the state of the newer version', () => {
  it('withdrawn: earlier buyers still get it, and no other buyer', async () => {
    const first = await goods();
    const payer = await bought(first, buyer.key);
    const next = await version(first.id);
    await withdrawListing(world.db.database, next.id);
    expect(said(await withoutTrace(() => world.buy(next.id, { key: buyer.key })))).toBe('200 delivered');
    const proof = await signProof(world.chain, payer, next.terms);
    expect(said(await withoutTrace(() => world.buy(next.id, { proof: proof.v2 })))).toBe('200 delivered');
    expect(said(await world.buy(next.id, { key: outsider.key }))).toBe('404 listing_unavailable');
    const intent = (key: string) => world.ask('POST', `/api/purchase-intent/${next.id}`, { key });
    expect(said(await intent(buyer.key))).toBe('409 free_listing');
    expect(said(await intent(outsider.key))).toBe('404 listing_unavailable');
  });

  it('removed: it goes to no new buyer, also not to earlier buyers', async () => {
    const first = await goods();
    const payer = await bought(first, buyer.key);
    const next = await version(first.id);
    await remove(next.id);
    const proof = await signProof(world.chain, payer, next.terms);
    for (const asked of [{ key: buyer.key }, { proof: proof.v2 }, { key: buyer.key, proof: proof.v1 }]) {
      const answer = await withoutTrace(() => world.buy(next.id, asked));
      expect(said(answer)).toBe('404 listing_unavailable');
      expect(JSON.stringify(answer.body)).not.toContain(NEWER_GOODS);
    }
  });

  it('the older one withdrawn or removed: its buyers get the newer one', async () => {
    const first = await goods();
    await bought(first, buyer.key);
    const next = await version(first.id);
    for (const end of [(id: bigint) => withdrawListing(world.db.database, id), remove]) {
      await end(first.id);
      expect(said(await withoutTrace(() => world.buy(next.id, { key: buyer.key })))).toBe('200 delivered');
    }
  });

  it('a free older one: who took it with a key gets the newer, and who has no key is asked to pay', async () => {
    const first = await goods({ units: 0n });
    expect(said(await world.buy(first.id, { key: buyer.key }))).toBe('200 delivered');
    expect(said(await world.buy(first.id))).toBe('200 delivered');
    const next = await version(first.id);
    expect(said(await withoutTrace(() => world.buy(next.id, { key: buyer.key })))).toBe('200 delivered');
    expect(said(await withoutTrace(() => world.buy(next.id)))).toBe('402 payment_required');
    expect(said(await world.buy(first.id, { key: outsider.key }))).toBe('200 delivered');
    expect(said(await withoutTrace(() => world.buy(next.id, { key: outsider.key })))).toBe('402 payment_required');
  });

  it('a free newer one is a purchase for all while it is live, and stays with earlier buyers when it is withdrawn', async () => {
    const first = await goods();
    await bought(first, buyer.key);
    await bought(first, second.key);
    const next = await version(first.id, { priceUnits: 0n });
    const taken = await world.buy(next.id, { key: buyer.key });
    expect(taken.body).toMatchObject({ purchase: { verified_via: 'free' } });
    await withdrawListing(world.db.database, next.id);
    const again = await withoutTrace(() => world.buy(next.id, { key: buyer.key }));
    expect(again.body).toMatchObject({ purchase: { verified_via: 'free' } });
    const given = await withoutTrace(() => world.buy(next.id, { key: second.key }));
    expect([said(given), given.body['purchase']]).toEqual(['200 delivered', null]);
    expect(said(await world.buy(next.id, { key: outsider.key }))).toBe('404 listing_unavailable');
  });
});

describe('payments in spite of an entitlement', () => {
  it('where only the payer may collect, its signature shows the purchase and the key does not', async () => {
    const first = await goods();
    const payer = await wallet();
    await payFor(world, first, { payer, key: buyer.key });
    await world.finalize();
    // Pretend that the facilitator has named signers, none of which sent the transfer.
    await world.db.database.run(sql`
      insert into facilitator_readings (chain_id, url, read_at, published) values (8453, ${facilitator.url}, now(), 1)
      on conflict (chain_id, url) do update set published = 1`);
    await world.running.payments.reconcileOnce();
    expect(said(await world.buy(first.id, { key: buyer.key }))).toBe('409 sign_to_collect');
    const next = await version(first.id);
    expect(said(await withoutTrace(() => world.buy(next.id, { key: buyer.key })))).toBe('402 payment_required');
    const proof = await signProof(world.chain, payer, next.terms);
    expect(said(await withoutTrace(() => world.buy(next.id, { proof: proof.v2 })))).toBe('200 delivered');
  });

  it('one that is under way is the answer, and becomes the purchase that it is', async () => {
    const first = await goods();
    // The purchase is paid and final but not read yet, so it entitles no buyer.
    expect((await payFor(world, first, { payer: await wallet(), key: buyer.key })).answer.status).toBe(202);
    await world.finalize();
    const next = await version(first.id);
    const { answer } = await payFor(world, next, { payer: await wallet(), key: buyer.key });
    expect(said(answer)).toBe('202 payment_pending');
    await world.running.payments.reconcileOnce();
    expect((await purchasesOf(world, buyer))[0]).toMatchObject({ listing_id: Number(first.id) });
    expect(said(await world.buy(next.id, { key: buyer.key }))).toBe('202 payment_pending');
    await world.finalize();
    const collected = await world.buy(next.id, { key: buyer.key });
    expect(collected.body).toMatchObject({ artifact: NEWER_GOODS, purchase: { price_usdc: 5 } });
  });

  it('one that ended unpaid: its old proof asks an earlier buyer for no new one', async () => {
    const first = await goods();
    await bought(first, buyer.key);
    const next = await version(first.id);
    facilitator.script({ verify: 'valid', settle: 'garbage' });
    const payer = await wallet();
    const { proof } = await payFor(world, next, { payer });
    await usdcAdmin(world.chain).cancelAuthorization(stranger, payer, proof.authorization.nonce);
    await world.finalize();
    await world.running.payments.reconcileOnce();
    forward();
    expect(said(await world.buy(next.id, { proof: proof.v2 }))).toBe('402 authorization_lapsed');
    expect(said(await withoutTrace(() => world.buy(next.id, { key: buyer.key, proof: proof.v2 })))).toBe(
      '200 delivered',
    );
  });

  it('an intent is refused when the older version becomes the buyer’s while the request waits for its turn', async () => {
    const first = await goods();
    await payFor(world, first, { payer: await wallet(), key: buyer.key });
    await world.finalize();
    const next = await version(first.id);
    await world.chain.mine();
    const turn = await holdTransactionOpen(world.db.database, (tx) => tx.lock(`intents:${buyer.id}:${next.id}`));
    const asked = world.ask('POST', `/api/purchase-intent/${next.id}`, { key: buyer.key });
    await untilWaiting(world.db.database);
    await world.running.payments.reconcileOnce();
    await turn.commit();
    expect(said(await asked)).toBe('409 free_listing');
  });
});
