import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { usdcAdmin } from '../support/chain.ts';
import { holdTransactionOpen, untilWaiting } from '../support/listing-life.ts';
import { type Answer, paidUnits, type SignedProof, signProof, wrapProof } from '../support/market-world.ts';
import { removeListing, withdrawListing } from '../support/seed.ts';
import { type Goods, PRICE, testTrade } from '../support/trade.ts';

const { sellerOne, sellerTwo, stranger } = WORLD_ACCOUNTS;
const { world, seller, buyer, goods, wallet, statusOf } = testTrade();

async function openPayments(): Promise<number> {
  const { found } = await world.db.database.one<{ found: bigint }>(sql`select count(*) as found from payments`);
  return Number(found);
}

/**
 * Checks that each answer to an undecided payment is 503 (its transfer is not seen yet) or 202, never 402, which would make a client sign
 * again.
 */
function expectNoInvitation(answers: Answer[]): void {
  for (const { status, body } of answers) {
    expect([202, 503]).toContain(status);
    expect(body['do_not_pay_again']).toBe(true);
  }
}

describe('one payment', () => {
  it('the same proof 50 times at once gives one settlement, one sale and one delivery token', async () => {
    const { id, artifact, terms } = await goods();
    const payer = await wallet();
    const proof = await signProof(world.chain, payer, terms);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => world.buy(id, { proof: index % 2 ? proof.v1 : proof.v2 })),
    );
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([202]));
    expect(answers.filter((answer) => 'delivery_token' in answer.body)).toHaveLength(1);
    expect(await paidUnits(world.chain, payer.address, sellerOne.address)).toEqual([PRICE]);
    await world.finalize();
    await Promise.all(Array.from({ length: 10 }, () => world.running.payments.reconcileOnce()));
    const sales = await world.db.database.rows(sql`select id from purchases where listing_id = ${id}`);
    expect(sales).toHaveLength(1);
    expect(JSON.stringify(answers.map((answer) => answer.body))).not.toContain(artifact);
  });

  it('a client that signs again at each call, 20 times at once and after, pays once', async () => {
    const { id, artifact, terms } = await goods();
    const payer = await wallet();
    const fresh = () => signProof(world.chain, payer, terms);
    const proofs = await Promise.all(Array.from({ length: 20 }, fresh));
    const answers = await Promise.all(proofs.map((proof) => world.buy(id, { proof: proof.v2 })));
    expectNoInvitation(answers);
    await world.finalize();
    for (const proof of [await fresh(), await fresh()]) {
      const answer = await world.buy(id, { proof: proof.v1 });
      expect([answer.status, answer.body['artifact']]).toEqual([200, artifact]);
    }
    expect(await paidUnits(world.chain, payer.address, sellerOne.address)).toEqual([PRICE]);
  });

  it('a merchant pays once, whichever of its wallets signs', async () => {
    const { id, terms } = await goods();
    const wallets = [await wallet(), await wallet(), await wallet()];
    const proofs = await Promise.all(wallets.map((account) => signProof(world.chain, account, terms)));
    // The row lock stops all requests after they look for an earlier payment and before they open their own.
    const lock = sql`select from listings where id = ${id} for update`;
    const held = await holdTransactionOpen(world.db.database, (tx) => tx.rows(lock));
    const asked = proofs.map((proof) => world.buy(id, { key: buyer.key, proof: proof.v2 }));
    await untilWaiting(world.db.database, wallets.length);
    await held.commit();
    const answers = await Promise.all(asked);
    expectNoInvitation(answers);
    const paid = await Promise.all(wallets.map((account) => paidUnits(world.chain, account.address, terms.payTo)));
    expect(paid.flat()).toEqual([PRICE]);
  });

  it('a proof belongs to the listing that it opened, for ever', async () => {
    const first = await goods();
    const second = await goods();
    const payer = await wallet();
    const proof = await signProof(world.chain, payer, { payTo: first.terms.payTo, units: PRICE });
    expect((await world.buy(first.id, { proof: proof.v1 })).status).toBe(202);
    for (const sent of [proof.v1, proof.v2]) {
      const other = await world.buy(second.id, { proof: sent });
      expect([other.status, other.body['reason']]).toEqual([409, 'payment_bound_elsewhere']);
      expect(other.body['do_not_pay_again']).toBe(true);
    }
    await world.finalize();
    expect((await world.buy(second.id, { proof: proof.v1 })).status).toBe(409);
  });

  it('a v2 proof whose resource names another listing opens no row', async () => {
    const first = await goods();
    const second = await goods();
    const proof = await signProof(world.chain, await wallet(), first.terms);
    const before = await openPayments();
    const answer = await world.buy(second.id, { proof: proof.v2 });
    expect([answer.status, answer.body['reason']]).toEqual([409, 'payment_bound_elsewhere']);
    expect(await openPayments()).toBe(before);
  });
});

describe('who may not have the goods', () => {
  async function observedProof(): Promise<{ listing: Goods; rebuilt: SignedProof }> {
    const listing = await goods();
    const payer = await wallet();
    const proof = await signProof(world.chain, payer, listing.terms);
    const bought = await world.buy(listing.id, { proof: proof.v2 });
    expect(bought.status).toBe(202);
    // All of this can be read from the settlement's public call data.
    return { listing, rebuilt: wrapProof(proof.authorization, proof.signature, listing.terms) };
  }

  it.each(['v1', 'v2'] as const)(
    'an observer who rebuilds the proof from the chain gets neither goods nor token (%s)',
    async (version) => {
      const { listing, rebuilt } = await observedProof();
      const early = await world.buy(listing.id, { proof: rebuilt[version] });
      expect(early.status).toBe(202);
      expect(early.body).not.toHaveProperty('delivery_token');
      await world.finalize();
      for (const body of [{}, { collect: true }]) {
        const late = await world.buy(listing.id, { proof: rebuilt[version], body });
        expect([late.status, late.body['reason']]).toEqual([409, 'sign_to_collect']);
        expect(JSON.stringify(late.body)).not.toContain(listing.artifact);
        expect(late.body).not.toHaveProperty('delivery_token');
      }
      const withKey = await world.buy(listing.id, { proof: rebuilt[version], key: buyer.key });
      expect([withKey.status, withKey.body['reason']]).toEqual([409, 'sign_to_collect']);
    },
  );

  it('an observer who races the facilitator to the chain: in either order, the payer’s signature collects, and paid once', async () => {
    const { id, artifact, terms } = await goods();
    const payer = await wallet();
    const proof = await signProof(world.chain, payer, terms);
    // An observer copies the proof and submits it before the facilitator does.
    await world.chain.rpc.call('evm_setAutomine', [false]);
    const buying = world.buy(id, { key: buyer.key, proof: proof.v2 });
    await expect.poll(async () => await openPaymentsOf(proof)).toBe(1);
    const admin = usdcAdmin(world.chain);
    const stolen = admin.settleAuthorization(stranger, proof.authorization, proof.signature);
    await expect.poll(async () => await world.chain.rpc.call('txpool_status', [])).toBeTruthy();
    await world.chain.rpc.call('evm_setAutomine', [true]);
    await world.chain.mine(1);
    await stolen;
    await buying;
    await world.finalize();
    const after = await world.buy(id, { key: buyer.key });
    // Either transaction may have come first; background-pass.test.ts covers who may collect in each case.
    expect([200, 409]).toContain(after.status);
    const fresh = await signProof(world.chain, payer, terms);
    const collected = await world.buy(id, { body: { collect: true }, proof: fresh.v2 });
    expect([collected.status, collected.body['artifact']]).toEqual([200, artifact]);
    expect(await paidUnits(world.chain, payer.address, terms.payTo)).toEqual([PRICE]);
  });

  async function openPaymentsOf(proof: SignedProof): Promise<number> {
    const nonce = Buffer.from(proof.authorization.nonce.slice(2), 'hex');
    const { found } = await world.db.database.one<{ found: bigint }>(
      sql`select count(*) as found from payments where nonce = ${nonce}`,
    );
    return Number(found);
  }

  it('a token that belongs to nothing does not stand in the way of a proof', async () => {
    const { id, terms } = await goods();
    const proof = await signProof(world.chain, await wallet(), terms);
    const answer = await world.buy(id, { proof: proof.v2, headers: { 'x-delivery-token': 'y'.repeat(43) } });
    expect(answer.status).toBe(202);
    expect(answer.body['delivery_token']).toHaveLength(43);
  });

  it('a delivery token of another listing is no invitation to pay', async () => {
    const { id } = await goods();
    const answer = await world.buy(id, { headers: { 'x-delivery-token': 'x'.repeat(43) } });
    expect([answer.status, answer.body['reason'], answer.body['do_not_pay_again']]).toEqual([
      404,
      'payment_not_found',
      true,
    ]);
  });
});

describe('what opens no row', () => {
  it('an authorization that was used elsewhere', async () => {
    const { id, terms } = await goods();
    const payer = await wallet();
    const proof = await signProof(world.chain, payer, terms);
    await usdcAdmin(world.chain).settleAuthorization(stranger, proof.authorization, proof.signature);
    const before = await openPayments();
    const answer = await world.buy(id, { proof: proof.v1 });
    expect([answer.status, answer.body['reason']]).toEqual([409, 'authorization_used_elsewhere']);
    expect(await openPayments()).toBe(before);
  });

  it('a forged from, and it blocks no payer', async () => {
    const { id, terms } = await goods();
    const victim = await wallet();
    const real = await signProof(world.chain, stranger, { ...terms, signed: { from: stranger.address } });
    const forged = wrapProof({ ...real.authorization, from: victim.address }, real.signature, terms);
    const before = await openPayments();
    const answer = await world.buy(id, { proof: forged.v2 });
    expect([answer.status, answer.body['reason']]).toEqual([402, 'signature_invalid']);
    expect(await openPayments()).toBe(before);
    const own = await signProof(world.chain, victim, terms);
    expect((await world.buy(id, { proof: own.v2 })).status).toBe(202);
  });

  it('own goods, by key and by wallet', async () => {
    const { id, terms } = await goods();
    const byKey = await world.buy(id, { key: seller.key });
    expect([byKey.status, byKey.body['reason']]).toEqual([403, 'own_goods']);
    await goods({ payTo: sellerTwo.address });
    const self = await signProof(world.chain, sellerTwo, terms);
    const byWallet = await world.buy(id, { proof: self.v1 });
    expect([byWallet.status, byWallet.body['reason']]).toEqual([403, 'own_goods']);
  });

  it('a price above what the buyer agreed to', async () => {
    const { id, terms } = await goods();
    const proof = await signProof(world.chain, await wallet(), terms);
    const answer = await world.buy(id, { proof: proof.v2, body: { max_price_usdc: 2.499999 } });
    expect([answer.status, answer.body['reason']]).toEqual([409, 'price_above_limit']);
    expect((await world.buy(id, { proof: proof.v2, body: { max_price_usdc: 2.5 } })).status).toBe(202);
  });
});

describe('a listing that ends', () => {
  it('withdrawn: what was opened before is delivered, nothing opens afterwards', async () => {
    const { id, artifact, terms } = await goods();
    const proof = await signProof(world.chain, await wallet(), terms);
    const opened = await world.buy(id, { proof: proof.v2 });
    const token = String(opened.body['delivery_token']);
    await withdrawListing(world.db.database, id);
    await world.finalize();
    const late = await signProof(world.chain, await wallet(), terms);
    expect((await world.buy(id, { proof: late.v2 })).status).toBe(404);
    const collected = await world.buy(id, { headers: { 'x-delivery-token': token } });
    expect([collected.status, collected.body['artifact']]).toEqual([200, artifact]);
  });

  it('removed before the transfer: the money is for review, and the buyer is not asked to pay again', async () => {
    const { id, terms } = await goods();
    const proof = await signProof(world.chain, await wallet(), terms);
    expect((await world.buy(id, { key: buyer.key, proof: proof.v2 })).status).toBe(202);
    // The removal is dated before the transfer's block.
    await removeListing(world.db.database, id);
    await world.finalize();
    const answer = await world.buy(id, { key: buyer.key });
    expect([answer.status, answer.body['reason'], answer.body['do_not_pay_again']]).toEqual([
      422,
      'needs_review',
      true,
    ]);
    expect(await statusOf(proof)).toMatchObject({ payment_status: 'needs_review', outcome: 'listing_removed' });
  });

  it('a free good is delivered at once; with a key it is a purchase, once', async () => {
    const listing = await goods({ units: 0n, artifact: 'free for all' });
    const anyone = await world.buy(listing.id);
    expect([anyone.status, anyone.body['artifact'], anyone.body['purchase']]).toEqual([200, 'free for all', null]);
    const once = await world.buy(listing.id, { key: buyer.key });
    const twice = await world.buy(listing.id, { key: buyer.key });
    expect(once.body['purchase']).toEqual(twice.body['purchase']);
    expect(once.body).toMatchObject({ purchase: { verified_via: 'free', paid_usdc: 0 } });
  });
});
