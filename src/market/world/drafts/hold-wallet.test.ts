import sql from 'sql-template-tag';
import { beforeEach, expect, it } from 'vitest';
import { reasonOf } from '../../../../test/support/ask.ts';
import { testDatabase } from '../../../../test/support/database.ts';
import { holdTransactionOpen, ruleAgainst, untilWaiting } from '../../../../test/support/listing-life.ts';
import { type SeededMerchant, seedListing, seedMerchant } from '../../../../test/support/seed.ts';
import { seedWorldListing } from '../../../../test/support/world-listing.ts';
import type { Tx } from '../../../platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../../platform/hex.ts';
import { systemRandom } from '../../../platform/random.ts';
import { findWalletKind } from '../../listings/store.ts';
import { insertDraft, releaseWallet, reserveWallet } from './store.ts';

const db = testDatabase();
let seller: SeededMerchant;
let wallet: Hex;

beforeEach(async () => {
  seller = await seedMerchant(db.database);
  wallet = toHex(systemRandom.bytes(20));
});

const within = <T>(act: (tx: Tx) => Promise<T>): Promise<T> => db.database.transaction(act);
const kind = () => findWalletKind(db.database, wallet);

/** Inserts a listed draft that holds the wallet, because a listed draft needs no fee in the schema. */
async function holdDraft(tx: Tx): Promise<void> {
  const texts = { title: 'A lamp', description: 'What it is', preview: '', tags: [], keywords: [] };
  const terms = { merchantId: seller.id, priceUnits: 1n, sellerWallet: wallet, thingId: 1n };
  const time = { createdAt: new Date(0), expiresAt: new Date(3_600_000) };
  const id = await insertDraft(tx, { ...texts, ...terms }, time);
  const { id: listingId } = await tx.one<{ id: bigint }>(sql`select id from listings order by id desc limit 1`);
  await tx.run(sql`
    update world_drafts set state = 'listed', listing_id = ${listingId}, offer_id = 1, held_wallet = seller_wallet, ended_at = now()
    where id = ${id}`);
}

it('a wallet is held for any number of things, and free when none holds it', async () => {
  await within((tx) => reserveWallet(tx, wallet));
  await within((tx) => reserveWallet(tx, wallet));
  expect(await kind()).toBe('world');
  await within((tx) => releaseWallet(tx, wallet));
  expect(await kind()).toBeNull();
});

it('one of goods is refused, and one of a listed thing is not freed', async () => {
  await seedListing(db.database, seller.id, { wallet });
  expect(await reasonOf(within((tx) => reserveWallet(tx, wallet)))).toBe('wallet_in_use');
  await within((tx) => releaseWallet(tx, wallet));
  expect(await kind()).toBe('ordinary');
  const thing = await seedWorldListing(db.database, seller.id);
  await within((tx) => releaseWallet(tx, thing.wallet));
  expect(await findWalletKind(db.database, thing.wallet)).toBe('world');
});

it('goods that are listed at the same moment have it', async () => {
  const use = sql`insert into wallet_uses (wallet, kind) values (${toBytes(wallet)}, 'ordinary')`;
  const goods = await holdTransactionOpen(db.database, (tx) => tx.run(use));
  const asked = reasonOf(within((tx) => reserveWallet(tx, wallet)));
  await untilWaiting(db.database);
  await goods.commit();
  expect(await asked).toBe('wallet_in_use');
});

it('who holds it and who lets go of it wait for each other', async () => {
  await seedListing(db.database, seller.id);
  await within((tx) => reserveWallet(tx, wallet));
  const [seen, told] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = within(async (tx) => {
    await reserveWallet(tx, wallet);
    seen.resolve();
    await told.promise;
    await holdDraft(tx);
  });
  await seen.promise;
  const freeing = within((tx) => releaseWallet(tx, wallet));
  await Promise.race([freeing, untilWaiting(db.database)]);
  told.resolve();
  expect(await ruleAgainst(holding)).toBe('none');
  await freeing;
  expect(await kind()).toBe('world');
});
