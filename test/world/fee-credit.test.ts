import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { LISTINGS_LOCK } from '../../src/market/listings/add-listing.ts';
import { type Hex, toBytes } from '../../src/platform/hex.ts';
import { holdTransactionOpen, untilWaiting } from '../support/listing-life.ts';
import {
  type Answer,
  BASE_URL,
  type Member,
  paidUnits,
  type SignedProof,
  signProof,
  startWorld,
  type World,
} from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';
import { fundedWallet, type GoodsBody, listGoods, listPaid, newGoods, signFee } from '../support/trade.ts';

const { treasury, sellerOne } = WORLD_ACCOUNTS;

let world: World;
let made = 0;

beforeAll(async () => {
  world = await startWorld();
  await world.join('the-keeper');
});
afterAll(() => world?.stop());

function merchant(): Promise<Member> {
  made += 1;
  return world.join(`merchant-${made}`);
}

const statusAndReason = ({ status, body }: Answer) => [status, body['reason'] ?? body['status'] ?? 'ok'];

async function creditsOf(member: Member): Promise<unknown> {
  return (await world.ask('GET', '/api/me', { key: member.key })).body['credits'];
}

function useInWorld(wallet: Hex) {
  return world.db.database.run(sql`insert into wallet_uses (wallet, kind) values (${toBytes(wallet)}, 'world')`);
}

interface Credited {
  member: Member;
  body: GoodsBody;
  proof: SignedProof;
}

/** Creates a merchant with a credit: a fee that became final after its listing had become impossible. */
async function withCredit(): Promise<Credited> {
  const member = await merchant();
  const wallet = testAccount(`taken wallet ${made}`).address;
  const body = newGoods({ seller_wallet: wallet });
  const proof = await signFee(world, await fundedWallet(world));
  expect((await listGoods(world, member, body, { proof: proof.v1 })).status).toBe(202);
  await useInWorld(wallet);
  await world.finalize();
  await world.running.payments.reconcileOnce();
  return { member, body, proof };
}

describe('a fee whose listing cannot be made', () => {
  it('is kept as a credit: in the books without a listing, told in /api/me, with the place of the goods free again', async () => {
    const { member, body, proof } = await withCredit();
    expect(await creditsOf(member)).toBe(1);
    const { body: books } = await world.ask('GET', '/treasury');
    expect((books['recent_fees'] as unknown[])[0]).toMatchObject({ listing_id: null, merchant: member.handle });
    const refused = await listGoods(world, member, body, { proof: proof.v1 });
    expect(statusAndReason(refused)).toEqual([409, 'wallet_in_use']);
    const { held } = await world.db.database.one<{ held: bigint }>(
      sql`select (select count(*) from artifact_guards where merchant_id = ${member.id})
        + (select count(*) from pending_listings where merchant_id = ${member.id}) as held`,
    );
    expect(held).toBe(0n);
    expect(await creditsOf(member)).toBe(1);
  });

  it('is spent by the next listing without a 402, and a proof sent along is neither stored nor settled', async () => {
    const { member, body } = await withCredit();
    const stranger = await fundedWallet(world);
    const dry = await listGoods(world, member, newGoods(), { dryRun: true });
    expect(dry.body).toEqual({ dry_run: true, would_cost_usdc: 0 });
    const mended = { ...body, seller_wallet: sellerOne.address };
    const listed = await listGoods(world, member, mended, { proof: (await signFee(world, stranger)).v2 });
    expect(listed.status).toBe(201);
    expect(listed.body['fee']).toMatchObject({ amount_usdc: 1, verified_via: 'x402' });
    expect(await paidUnits(world.chain, stranger.address, treasury.address)).toEqual([]);
    const { payments } = await world.db.database.one<{ payments: bigint }>(
      sql`select count(*) as payments from payments where payer = ${toBytes(stranger.address)}`,
    );
    expect(payments).toBe(0n);
    expect(await creditsOf(member)).toBe(0);
    expect((await listGoods(world, member, mended)).status).toBe(200);
    expect((await listGoods(world, member, newGoods())).status).toBe(402);
  });

  it('is spent once by requests that come at once', async () => {
    const { member } = await withCredit();
    // The lock stops all eight requests just before they insert their listing.
    const shelf = await holdTransactionOpen(world.db.database, (tx) => tx.lock(LISTINGS_LOCK));
    const asked = Promise.all(Array.from({ length: 8 }, () => listGoods(world, member, newGoods())));
    await untilWaiting(world.db.database, 8);
    await shelf.commit();
    const answers = await asked;
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(402)]);
    expect(await creditsOf(member)).toBe(0);
  });

  it('stays a credit when the listing that would spend it fails', async () => {
    const { member, body } = await withCredit();
    expect(statusAndReason(await listGoods(world, member, body))).toEqual([409, 'wallet_in_use']);
    const copy = newGoods({ artifact: 'c'.repeat(200), license: 'MIT' });
    const paid = await listPaid(world, await merchant(), copy, await fundedWallet(world));
    expect(paid.body).toMatchObject({ listing: { license: 'MIT' } });
    expect(statusAndReason(await listGoods(world, member, copy))).toEqual([409, 'duplicate_listing']);
    expect(await creditsOf(member)).toBe(1);
  });

  it('never answers for other goods: its proof, shown with its old body, does not name the listing that spent it', async () => {
    const { member, body, proof } = await withCredit();
    const spent = await listGoods(world, member, newGoods());
    expect(spent.status).toBe(201);
    const old = await listGoods(world, member, body, { proof: proof.v1 });
    expect(old.status).toBe(409);
    expect(old.body).not.toMatchObject({ listing_id: spent.body['listing_id'] });
  });
});

describe('a proof belongs to one request', () => {
  async function goodsOnSale() {
    made += 1;
    const seller = await merchant();
    const { id } = await seedListing(world.db.database, seller.id, {
      wallet: sellerOne.address,
      priceUnits: 1_000_000n,
    });
    const terms = { payTo: sellerOne.address, units: 1_000_000n, resource: `${BASE_URL}/api/buy/${id}` };
    return { id, terms };
  }

  it('one that bought goods pays no fee', async () => {
    const { id, terms } = await goodsOnSale();
    const member = await merchant();
    const proof = await signProof(world.chain, await fundedWallet(world), terms);
    expect((await world.buy(id, { proof: proof.v1 })).status).toBe(202);
    for (const sent of [proof.v1, proof.v2]) {
      const answer = await listGoods(world, member, newGoods(), { proof: sent });
      expect(statusAndReason(answer)).toEqual([409, 'payment_bound_elsewhere']);
      expect(answer.body['do_not_pay_again']).toBe(true);
    }
  });

  it('one that paid a fee buys no goods, lists no other goods and lists for no other merchant', async () => {
    const { id } = await goodsOnSale();
    const [member, another] = [await merchant(), await merchant()];
    const body = newGoods();
    const payer = await fundedWallet(world);
    const proof = await signFee(world, payer);
    expect((await listGoods(world, member, body, { proof: proof.v1 })).status).toBe(202);
    const bound = [409, 'payment_bound_elsewhere'];
    for (const when of ['pending', 'final']) {
      for (const sent of [proof.v1, proof.v2]) {
        expect(statusAndReason(await world.buy(id, { proof: sent })), when).toEqual(bound);
        expect(statusAndReason(await listGoods(world, member, newGoods(), { proof: sent })), when).toEqual(bound);
        expect(statusAndReason(await listGoods(world, another, body, { proof: sent })), when).toEqual(bound);
      }
      await world.finalize();
      await world.running.payments.reconcileOnce();
    }
    expect((await listGoods(world, member, body)).status).toBe(201);
    expect(await paidUnits(world.chain, payer.address, treasury.address)).toEqual([1_000_000n]);
  });

  it('one that names another resource is refused before anything is stored', async () => {
    const { id, terms } = await goodsOnSale();
    const payer = await fundedWallet(world);
    const forGoods = await signProof(world.chain, payer, terms);
    const forFee = await signFee(world, payer);
    const bound = [409, 'payment_bound_elsewhere'];
    expect(statusAndReason(await listGoods(world, await merchant(), newGoods(), { proof: forGoods.v2 }))).toEqual(
      bound,
    );
    expect(statusAndReason(await world.buy(id, { proof: forFee.v2 }))).toEqual(bound);
    expect((await world.buy(id, { proof: forGoods.v2 })).status).toBe(202);
  });
});
