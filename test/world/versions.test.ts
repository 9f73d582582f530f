import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';
import { type TestAccount, USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { openPurchase } from '../../src/market/purchases/start-purchase.ts';
import { readAuthorizationState } from '../../src/platform/chain/usdc.ts';
import { type Member, paidUnits, type SignedProof, signProof } from '../support/market-world.ts';
import { type Goods, PRICE } from '../support/trade.ts';
import { NEWER_GOODS, payFor, purchasesOf, said, versionTrade } from './version-stage.ts';

const { world, seller, buyer, goods, wallet, version, bought, withoutTrace } = await versionTrade();
const { sellerOne, stranger } = WORLD_ACCOUNTS;

async function isUsed({ authorization: { from, nonce } }: SignedProof): Promise<boolean> {
  return await readAuthorizationState(world.chain.rpc, USDC_ADDRESS, { authorizer: from, nonce }, 'latest');
}

let old: Goods;
let newer: Goods;
let newest: Goods;
/** Two buyers of the first version, before the second existed: one with a key, one with a wallet alone. */
let keyedPayer: TestAccount;
let keylessPayer: TestAccount;
/** `late` bought the first version when the second already existed. `second` bought the second version before the third existed. */
let late: Member;
let latePayer: TestAccount;
let second: Member;
let secondPayer: TestAccount;
let outsider: Member;

beforeAll(async () => {
  late = await world.join('bought-too-late');
  second = await world.join('bought-the-second');
  outsider = await world.join('bought-nothing');
  old = await goods();
  keyedPayer = await bought(old, buyer.key);
  keylessPayer = await bought(old);
  newer = await version(old.id);
  latePayer = await bought(old, late.key);
  secondPayer = await bought(newer, second.key);
  newest = await version(newer.id, { artifact: 'secret goods of the newest version' });
});

describe('who bought an older version', () => {
  it('gets the newer one by its key, with no purchase, no event and no money', async () => {
    const answer = await withoutTrace(() => world.buy(newer.id, { key: buyer.key }));
    expect(answer.body).toMatchObject({
      listing_id: Number(newer.id),
      artifact: NEWER_GOODS,
      purchase: null,
      receipt: null,
      do_not_pay_again: true,
    });
    expect(said(await world.buy(newer.id, { key: buyer.key, body: { collect: true } }))).toBe('200 delivered');
  });

  it('gets it with a proof sent along, which is left alone', async () => {
    const proofs = await Promise.all(
      [keyedPayer, latePayer].map((payer) => signProof(world.chain, payer, newer.terms)),
    );
    for (const proof of proofs) {
      const answer = await withoutTrace(() => world.buy(newer.id, { key: buyer.key, proof: proof.v2 }));
      expect(said(answer)).toBe('200 delivered');
      expect(await isUsed(proof)).toBe(false);
    }
  });

  it('without a key shows its wallet by a proof, again and again, with a strange key too, and nothing is settled', async () => {
    expect(said(await world.buy(newer.id))).toBe('402 payment_required');
    expect(said(await world.buy(newer.id, { body: { collect: true } }))).toBe('402 payment_required');
    const proof = await signProof(world.chain, keylessPayer, newer.terms);
    for (const asked of [{}, { body: { collect: true } }, { key: outsider.key }, { body: { max_price_usdc: 1 } }]) {
      for (const sent of [proof.v1, proof.v2]) {
        const answer = await withoutTrace(() => world.buy(newer.id, { ...asked, proof: sent }));
        expect([said(answer), answer.body['artifact'], answer.body['purchase']]).toEqual([
          '200 delivered',
          NEWER_GOODS,
          null,
        ]);
        expect(answer.body).not.toHaveProperty('delivery_token');
      }
    }
    expect(await isUsed(proof)).toBe(false);
    expect(await paidUnits(world.chain, keylessPayer.address, sellerOne.address)).toEqual([PRICE]);
  });

  it('gets the newest one through the one between, and who bought that one gets it too', async () => {
    for (const { key } of [buyer, second]) {
      const answer = await withoutTrace(() => world.buy(newest.id, { key }));
      expect([said(answer), answer.body['artifact']]).toEqual(['200 delivered', newest.artifact]);
    }
    const proof = await signProof(world.chain, secondPayer, newest.terms);
    expect(said(await withoutTrace(() => world.buy(newest.id, { proof: proof.v2 })))).toBe('200 delivered');
  });

  it('is asked for no transfer either', async () => {
    for (const body of [{}, { payer_wallet: keyedPayer.address }, { payer_wallet: stranger.address }]) {
      const path = `/api/purchase-intent/${newer.id}`;
      const answer = await withoutTrace(() => world.ask('POST', path, { key: buyer.key, body }));
      expect(said(answer)).toBe('409 free_listing');
      expect(answer.body).toMatchObject({ do_not_pay_again: true });
      expect(answer.body['detail']).toContain(`POST /api/buy/${newer.id} delivers`);
    }
    const named = { key: outsider.key, body: { payer_wallet: keylessPayer.address } };
    expect(said(await world.ask('POST', `/api/purchase-intent/${newer.id}`, named))).toBe('409 free_listing');
  });

  it('is asked for no row: an older version that becomes its own between the look and the row is seen', async () => {
    const { market } = world.running;
    const proof = await signProof(world.chain, keylessPayer, newer.terms);
    const { authorization, signature } = proof;
    const listing = {
      id: newer.id,
      merchantId: seller.id,
      priceUnits: newer.terms.units,
      sellerWallet: sellerOne.address,
      state: 'live' as const,
      removedAt: null,
      chainId: null,
      isThing: false,
    };
    const request = { listingId: newer.id, merchant: null, tokenHash: null, maxPriceUnits: null, collectOnly: false };
    const terms = {
      version: 2 as const,
      scheme: 'exact',
      network: 'eip155:8453',
      asset: null,
      payTo: null,
      amount: null,
    };
    const given = { ...terms, resourceUrl: null, authorization, signature };
    const opening = { request: { ...request, proof: given }, listing, proof: given, floor: 1n, token: null };
    expect(await withoutTrace(() => openPurchase(market, opening))).toBeNull();
  });
});

describe('who did not', () => {
  it('pays for it: a stranger, and who bought the older one when the newer was there', async () => {
    for (const key of [outsider.key, late.key]) {
      for (const { id } of [newer, newest]) {
        expect(said(await withoutTrace(() => world.buy(id, { key })))).toBe('402 payment_required');
      }
    }
    const proof = await signProof(world.chain, latePayer, newest.terms);
    const collected = await withoutTrace(() => world.buy(newest.id, { proof: proof.v2, body: { collect: true } }));
    expect(said(collected)).toBe('404 nothing_to_collect');
    expect(said(await world.buy(newest.id, { key: late.key, proof: proof.v2 }))).toBe('202 payment_pending');
    await world.finalize();
    const answer = await world.buy(newest.id, { key: late.key });
    expect([said(answer), answer.body['purchase']]).toEqual([
      '200 delivered',
      expect.objectContaining({ price_usdc: 5 }),
    ]);
  });

  it('gets nothing by a proof that another wallet signed, or for another listing, or by the token of the older one', async () => {
    const foreign = await signProof(world.chain, stranger, {
      ...newer.terms,
      signed: { from: keylessPayer.address },
    });
    expect(said(await withoutTrace(() => world.buy(newer.id, { proof: foreign.v2 })))).toBe('402 signature_invalid');
    const elsewhere = await signProof(world.chain, keylessPayer, { ...newer.terms, resource: newest.terms.resource });
    expect(said(await withoutTrace(() => world.buy(newer.id, { proof: elsewhere.v2 })))).toBe(
      '409 payment_bound_elsewhere',
    );
    const { answer } = await payFor(world, old, { payer: await wallet() });
    const headers = { 'x-delivery-token': String(answer.body['delivery_token']) };
    expect(said(await withoutTrace(() => world.buy(newer.id, { headers })))).toBe('404 payment_not_found');
    await world.finalize();
  });

  it('gets nothing from what an observer finds on the chain of the earlier purchase', async () => {
    const { id, terms } = await goods();
    const payer = await wallet();
    const { proof } = await payFor(world, { id, terms, artifact: '' }, { payer });
    await world.finalize();
    await world.running.payments.reconcileOnce();
    const after = await version(id, { priceUnits: PRICE });
    const answer = await withoutTrace(() => world.buy(after.id, { proof: proof.v1 }));
    expect(said(answer)).toBe('409 payment_bound_elsewhere');
  });

  it('is the seller, even with the proof of an earlier buyer', async () => {
    const proof = await signProof(world.chain, keylessPayer, newer.terms);
    for (const asked of [{}, { proof: proof.v2 }]) {
      const answer = await withoutTrace(() => world.buy(newer.id, { key: seller.key, ...asked }));
      expect(said(answer)).toBe('403 own_goods');
    }
  });

  it('is who bought the version before one that entitles no earlier buyer', async () => {
    const first = await goods();
    const firstPayer = await bought(first);
    const plain = await version(first.id, { entitles: false });
    const plainPayer = await bought(plain);
    const giving = await version(plain.id);
    const asked = async (listing: Goods, payer: TestAccount) => {
      const proof = await signProof(world.chain, payer, listing.terms);
      return said(await withoutTrace(() => world.buy(listing.id, { proof: proof.v2, body: { collect: true } })));
    };
    expect(await asked(plain, firstPayer)).toBe('404 nothing_to_collect');
    expect(await asked(giving, firstPayer)).toBe('404 nothing_to_collect');
    expect(await asked(giving, plainPayer)).toBe('200 delivered');
  });
});

describe('purchases name the newer version', () => {
  const newerOf = async (member: Member, listing: Goods) => {
    const { id } = await world.db.database.one<{ id: bigint }>(sql`
      select id from purchases where merchant_id = ${member.id} and listing_id = ${listing.id}`);
    const after = await world.db.database.maybe<{ id: bigint }>(sql`
      select min(id) as id from purchases where merchant_id = ${member.id} and id > ${id} having min(id) is not null`);
    const from = after === null ? '' : `&before_id=${after.id}`;
    const { body } = await world.ask('GET', `/api/purchases?limit=1${from}`, { key: member.key });
    return (body['purchases'] as { newer_version: unknown }[])[0]?.newer_version;
  };

  it('the newest live one, in what it differs, and whether it is free for this merchant', async () => {
    expect(await newerOf(buyer, old)).toEqual({
      listing_id: Number(newest.id),
      title: expect.any(String),
      price_usdc: 5,
      created_at: expect.any(String),
      changed: ['price_usdc', 'artifact'],
      entitled: true,
    });
    expect(await newerOf(second, newer)).toMatchObject({
      listing_id: Number(newest.id),
      changed: ['artifact'],
      entitled: true,
    });
    expect(await newerOf(late, old)).toMatchObject({ listing_id: Number(newest.id), entitled: false });
    expect(await newerOf(late, newest)).toBeNull();
  });

  it('says entitled exactly where the goods are delivered', async () => {
    for (const member of [buyer, second, late]) {
      const rows = await purchasesOf(world, member);
      for (const row of rows) {
        const found = row['newer_version'] as { listing_id: number; entitled: boolean } | null;
        if (found === null) continue;
        const { body } = await world.buy(BigInt(found.listing_id), { key: member.key });
        expect(body['purchase'] === null, JSON.stringify(found)).toBe(found.entitled);
      }
    }
  });
});
