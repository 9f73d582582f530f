import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { createClient } from '../../src/sdk/client.ts';
import { rowsOf } from '../../src/sdk/page-cursor.ts';
import {
  eventPages,
  merchantPages,
  purchasePages,
  shelfPages,
  storePages,
  treasuryPages,
} from '../../src/sdk/pages.ts';
import { buy } from '../../src/sdk/payments/buy.ts';
import { listGoods } from '../../src/sdk/payments/list-goods.ts';
import { createMemoryProofStore } from '../../src/sdk/payments/proof-store.ts';
import { BASE_URL, type Member, paidUnits, startWorld, type World } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';

const { buyerOne, buyerTwo, sellerOne, treasury } = WORLD_ACCOUNTS;
const ARTIFACT = 'goods that stay hidden before the transfer is final';

let world: World;
let seller: Member;
let buyer: Member;
let listingId: number;

beforeAll(async () => {
  world = await startWorld();
  await world.join('the-keeper');
  seller = await world.join('seller-one');
  buyer = await world.join('buyer-one');
});
afterAll(() => world?.stop());

/** Creates a client whose waits mine blocks, so finality comes at once. */
function clientOf(key?: string) {
  const environment = { sleep: () => world.finalize() };
  return createClient({
    baseUrl: world.url,
    callsItself: BASE_URL,
    environment,
    ...(key === undefined ? {} : { key }),
  });
}

describe('the client against a real market', () => {
  it('lists goods and pays the fee once', async () => {
    const phases: string[] = [];
    const listed = await listGoods({
      client: clientOf(seller.key),
      wallet: sellerOne.signer,
      listing: {
        ...{ title: 'Goods of the client', description: 'd', preview: '', artifact: ARTIFACT },
        ...{ price_usdc: 2.5, seller_wallet: sellerOne.address },
      },
      onProgress: ({ phase }) => phases.push(phase),
    });
    listingId = listed.listing_id;
    expect(phases.slice(0, 2)).toEqual(['signed', 'submitted']);
    expect(phases.at(-1)).toBe('delivered');
    expect(await paidUnits(world.chain, sellerOne.address, treasury.address)).toEqual([1_000_000n]);
  });

  it('buys with a key by v2 and without an account by v1, each paying once and getting the committed goods', async () => {
    const options = { listingId, maxPriceUsdc: 2.5 };
    const wallet = buyerOne.signer;
    const keyed = await buy({ ...options, client: clientOf(buyer.key), wallet, x402Version: 2 });
    expect(keyed).toMatchObject({ artifact: ARTIFACT, purchase: { verified_via: 'x402' } });
    const stranger = buyerTwo.signer;
    const keyless = await buy({ ...options, client: clientOf(), wallet: stranger, x402Version: 1 });
    expect(keyless.artifact).toBe(ARTIFACT);
    for (const { address } of [buyerOne, buyerTwo])
      expect(await paidUnits(world.chain, address, sellerOne.address)).toEqual([2_500_000n]);
  });

  it('gives a wallet that lost everything the goods again, without paying', async () => {
    const again = { listingId, maxPriceUsdc: 2.5, client: clientOf(), wallet: buyerTwo.signer };
    expect((await buy(again)).artifact).toBe(ARTIFACT);
    expect(await paidUnits(world.chain, buyerTwo.address, sellerOne.address)).toEqual([2_500_000n]);
  });

  it('collects by a signature after a crash that lost the delivery token, paying once', async () => {
    const goods = { wallet: sellerOne.address, priceUnits: 3_000_000n, artifact: 'other goods' };
    const { id } = await seedListing(world.db.database, seller.id, goods);
    await world.running.eventsSettled();
    const store = createMemoryProofStore();
    const save: typeof store.save = (key, payment) => store.save(key, { ...payment, delivery_token: null });
    const options = { listingId: Number(id), maxPriceUsdc: 3, wallet: buyerTwo.signer, proofStore: { ...store, save } };
    const crashed = buy({ ...options, client: clientOf(), maxWaitSeconds: 0 });
    await expect(crashed).rejects.toMatchObject({ name: 'PaymentUndecided' });
    const phases: string[] = [];
    const delivery = await buy({ ...options, client: clientOf(), onProgress: ({ phase }) => phases.push(phase) });
    expect(delivery.artifact).toBe('other goods');
    expect(phases).toContain('collecting');
    const paid = await paidUnits(world.chain, buyerTwo.address, sellerOne.address);
    expect(paid.filter((units) => units === 3_000_000n)).toHaveLength(1);
  });

  it('walks every collection to its end', async () => {
    const count = async (rows: AsyncIterable<unknown>): Promise<number> => {
      let counted = 0;
      for await (const _ of rows) counted += 1;
      return counted;
    };
    const client = clientOf(buyer.key);
    expect(await count(rowsOf(shelfPages(client, { limit: 1 })))).toBe(2);
    expect(await count(rowsOf(shelfPages(client, { seller: 'seller-one', max_price_usdc: 2.5, limit: 1 })))).toBe(1);
    expect(await count(rowsOf(shelfPages(client, { free: true })))).toBe(0);
    expect(await count(rowsOf(storePages(client, 'seller-one', { limit: 1 })))).toBe(2);
    expect(await count(rowsOf(merchantPages(client, { limit: 2 })))).toBe(3);
    expect(await count(rowsOf(purchasePages(client, { limit: 1 })))).toBe(1);
    expect(await count(rowsOf(treasuryPages(client)))).toBe(1);
    await expect.poll(() => count(rowsOf(eventPages(client, { kind: 'sale', limit: 1 })))).toBe(3);
    expect(await count(rowsOf(eventPages(client, { limit: 1 })))).toBeGreaterThanOrEqual(3);
  });
});
