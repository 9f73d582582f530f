import sql, { raw } from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { toBytes } from '../../src/platform/hex.ts';
import { usdcAdmin } from '../support/chain.ts';
import { type Answer, type AskOptions, BASE_URL, signProof } from '../support/market-world.ts';
import { withdrawListing } from '../support/seed.ts';
import { scriptedTrade } from '../support/trade.ts';
import { seedWorldListing, seedWorldSale } from '../support/world-listing.ts';

const { stranger } = WORLD_ACCOUNTS;
const { facilitator, forward, world, seller, buyer, goods, wallet } = await scriptedTrade();

async function endedUnpaid(key?: string) {
  facilitator.script({ verify: 'valid', settle: 'garbage' });
  const listing = await goods();
  const payer = await wallet();
  const proof = await signProof(world.chain, payer, listing.terms);
  const asked = key === undefined ? {} : { key };
  expect((await world.buy(listing.id, { ...asked, proof: proof.v2 })).status).toBe(503);
  await usdcAdmin(world.chain).cancelAuthorization(stranger, payer, proof.authorization.nonce);
  await world.finalize();
  await world.running.payments.reconcileOnce();
  return { listing, payer, proof };
}

describe('buying, in its corners', () => {
  it('a thing of the city is bought through a checkout: no payment is asked for, in any state or form', async () => {
    const { id, wallet: payTo } = await seedWorldListing(world.db.database, seller.id);
    const proof = await signProof(world.chain, await wallet(), {
      payTo,
      units: 4_000_000n,
      resource: `${BASE_URL}/api/buy/${id}`,
    });
    const ways: AskOptions[] = [
      {},
      { body: { collect: true } },
      { proof: proof.v2 },
      { proof: proof.v1, body: { collect: true } },
    ];
    const expectCheckout = ({ status, body }: Answer) => {
      expect([status, body['reason'], body['do_not_pay_again']]).toEqual([409, 'checkout_needed', false]);
      expect(body['detail']).toContain(`POST /api/world/checkout/${id}`);
      expect(body).not.toHaveProperty('accepts');
    };
    for (const ended of [false, true]) {
      if (ended) await seedWorldSale(world.db.database, id, { merchantId: buyer.id });
      for (const way of ways) {
        for (const key of [undefined, buyer.key, seller.key]) {
          expectCheckout(await world.ask('POST', `/api/buy/${id}`, key === undefined ? way : { ...way, key }));
        }
      }
      expectCheckout(await world.ask('POST', `/api/purchase-intent/${id}`, { key: buyer.key, body: {} }));
    }
    const { count } = await world.db.database.one<{ count: bigint }>(
      sql`select count(*) from payments where listing_id = ${id}`,
    );
    expect(count).toBe(0n);
  });

  it('a free purchase is delivered again after withdrawal', async () => {
    const { id } = await goods({ units: 0n });
    expect((await world.buy(id, { key: buyer.key })).status).toBe(200);
    await withdrawListing(world.db.database, id);
    expect((await world.buy(id, { key: buyer.key })).status).toBe(200);
  });

  it('an old unpaid proof gets no 402 while the same key has an undecided attempt', async () => {
    const { listing, payer, proof } = await endedUnpaid(buyer.key);
    const second = await signProof(world.chain, payer, listing.terms);
    expect((await world.buy(listing.id, { key: buyer.key, proof: second.v2 })).status).toBe(503);
    const old = await world.buy(listing.id, { key: buyer.key, proof: proof.v2 });
    expect([old.status, old.body['do_not_pay_again'], 'accepts' in old.body]).toEqual([503, true, false]);
  });

  it('an old unpaid proof gets the goods, not a 402, once the same key has bought', async () => {
    const { listing, payer, proof } = await endedUnpaid(buyer.key);
    forward();
    const second = await signProof(world.chain, payer, listing.terms);
    await world.buy(listing.id, { key: buyer.key, proof: second.v2 });
    await world.finalize();
    expect((await world.buy(listing.id, { key: buyer.key })).status).toBe(200);
    const old = await world.buy(listing.id, { key: buyer.key, proof: proof.v2 });
    expect([old.status, 'accepts' in old.body]).toEqual([200, false]);
  });

  it('a 5xx to a key without proof does not say that paying again is safe', async () => {
    facilitator.script({ verify: 'valid', settle: 'garbage' });
    const { id, terms } = await goods();
    const proof = await signProof(world.chain, await wallet(), terms);
    await world.buy(id, { key: buyer.key, proof: proof.v2 });
    await world.db.database.run(raw('alter table payments rename to payments_away'));
    const answer = await world.buy(id, { key: buyer.key });
    await world.db.database.run(raw('alter table payments_away rename to payments'));
    expect([answer.status, answer.body['do_not_pay_again']]).toEqual([500, true]);
  });

  it('a facilitator that publishes no signers leaves the rule off, whatever an earlier one published', async () => {
    await world.db.database.run(sql`insert into facilitator_signers (chain_id, address, first_seen_at, last_seen_at)
      values (8453, ${toBytes(stranger.address)}, now() - interval '30 days', now() - interval '20 days')`);
    forward();
    await world.db.database.run(sql`insert into facilitator_readings (chain_id, url, read_at, published)
      values (8453, 'http://another.example', now() - interval '20 days', 1)`);
    const { id, terms } = await goods();
    const proof = await signProof(world.chain, await wallet(), terms);
    await world.buy(id, { key: buyer.key, proof: proof.v2 });
    await world.finalize();
    const answer = await world.buy(id, { key: buyer.key });
    await world.db.database.run(sql`delete from facilitator_signers`);
    expect([answer.status, answer.body['reason']]).toEqual([200, undefined]);
  });

  it('own goods with a proof: no row, so do_not_pay_again is false', async () => {
    const { id, terms } = await goods();
    const proof = await signProof(world.chain, await wallet(), terms);
    const answer = await world.buy(id, { key: seller.key, proof: proof.v2 });
    expect([answer.status, answer.body['do_not_pay_again']]).toEqual([403, false]);
  });

  it('tx_hash with a stray payer is 400', async () => {
    const answer = await world.ask('GET', `/api/payment?tx_hash=0x${'ab'.repeat(32)}&payer=0x${'ab'.repeat(20)}`);
    expect(answer.status).toBe(400);
  });

  it('the token of the opening request survives a failure after the row is committed', async () => {
    facilitator.script({ verify: 'valid', settle: 'garbage' });
    const { id, terms } = await goods();
    const proof = await signProof(world.chain, await wallet(), terms);
    facilitator.before('verify', async () => {
      await world.db.database.run(raw('alter table payments rename to payments_away'));
    });
    const answer = await world.buy(id, { proof: proof.v2 });
    await world.db.database.run(raw('alter table payments_away rename to payments'));
    expect(answer.status).toBe(500);
    expect(answer.body).toHaveProperty('delivery_token');
  });

  it('removed while verifying: every answer about that attempt agrees, and the facilitator is not asked again', async () => {
    facilitator.script({ verify: 'garbage', settle: 'garbage' });
    const { id, terms } = await goods();
    const proof = await signProof(world.chain, await wallet(), terms);
    await world.buy(id, { key: buyer.key, proof: proof.v2 });
    await world.db.database.run(sql`update listings set state = 'removed', removed_at = now() where id = ${id}`);
    facilitator.script({ verify: 'valid', settle: 'garbage' });
    const verifies = facilitator.calls.verify;
    const withProof = await world.buy(id, { key: buyer.key, proof: proof.v2 });
    expect([withProof.status, withProof.body['reason']]).toEqual([404, 'listing_removed']);
    const bare = await world.buy(id, { key: buyer.key });
    expect([bare.status, bare.body['reason'], facilitator.calls.verify - verifies]).toEqual([
      404,
      'listing_removed',
      0,
    ]);
  });

  it('removed while verify is asked: the yes that comes back submits nothing', async () => {
    facilitator.script({ verify: 'valid', settle: 'garbage' });
    const { id, terms } = await goods();
    const proof = await signProof(world.chain, await wallet(), terms);
    const settles = facilitator.calls.settle;
    facilitator.before('verify', async () => {
      await world.db.database.run(sql`update listings set state = 'removed', removed_at = now() where id = ${id}`);
    });
    const answer = await world.buy(id, { key: buyer.key, proof: proof.v2 });
    expect([answer.status, answer.body['reason']]).toEqual([404, 'listing_removed']);
    expect(facilitator.calls.settle).toBe(settles);
  });
});
