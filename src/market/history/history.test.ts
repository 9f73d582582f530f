import { beforeAll, expect, it } from 'vitest';
import { ask, reasonOf } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { marketContext, settableClock } from '../../../test/support/market-context.ts';
import {
  removeListing,
  type SeededListing,
  type SeededMerchant,
  seedFee,
  seedFreePurchase,
  seedListing,
  seedMerchant,
  seedPaidPurchase,
} from '../../../test/support/seed.ts';
import { endpoints } from '../../contract/index.ts';
import { sha256 } from '../../platform/canonical-json.ts';
import { takeQuota } from '../../platform/database/quota.ts';
import { type Hex, isHex, toBytes } from '../../platform/hex.ts';
import { REMOVAL_NOTICE } from '../catalog/present-listing.ts';
import type { Market } from '../context.ts';
import { getMe } from './get-me.ts';
import { listPurchases } from './purchase-history.ts';

const db = testDatabase();
const clock = settableClock(Date.UTC(2026, 0, 6, 10));
const market = () => marketContext({ database: db.database, clock });
type Query = Record<string, string>;
const purchasesOf = (caller: SeededMerchant, query: Query = {}, on: Market = market()) =>
  ask(on, endpoints.listPurchases, listPurchases, { query, caller });
const meOf = (caller: SeededMerchant, query: Query = {}, on: Market = market()) =>
  ask(on, endpoints.getMe, getMe, { query, caller });

let seller: SeededMerchant;
let buyer: SeededMerchant;
let text: SeededListing;
let binary: SeededListing;
let free: SeededListing;
let tip: Hex;
const BYTES = Buffer.from([0, 255, 10, 13, 200]);
/** A byte order mark and a Windows line end must be kept byte for byte. */
const TEXT = '\u{feff}first line\r\nüñí';
const ids: { text: number; binary: number; free: number; withheld: number } = {
  text: 0,
  binary: 0,
  free: 0,
  withheld: 0,
};

beforeAll(async () => {
  seller = await seedMerchant(db.database, { handle: 'seller' });
  buyer = await seedMerchant(db.database, { handle: 'buyer' });
  text = await seedListing(db.database, seller.id, { title: 'Text', artifact: TEXT, priceUnits: 1_500_000n });
  binary = await seedListing(db.database, seller.id, { title: 'Bytes', artifact: BYTES });
  free = await seedListing(db.database, seller.id, { title: 'Free', priceUnits: 0n });
  const withheld = await seedListing(db.database, seller.id, { title: 'Withheld', artifact: 'for the payer' });
  const bought = await seedPaidPurchase(db.database, text.id, { merchantId: buyer.id });
  ids.text = Number(bought.id);
  tip = bought.txHash;
  await seedPaidPurchase(db.database, text.id);
  ids.binary = Number((await seedPaidPurchase(db.database, binary.id, { merchantId: buyer.id })).id);
  ids.free = Number(await seedFreePurchase(db.database, free.id, buyer.id));
  const kept = await seedPaidPurchase(db.database, withheld.id, { merchantId: buyer.id, payerCollectsOnly: true });
  ids.withheld = Number(kept.id);
});

it('purchases: gives the goods back byte for byte, with the salt that opens the commitment', async () => {
  const pages = [await purchasesOf(buyer)];
  pages.push(await purchasesOf(buyer, { before_id: String(pages[0]?.next_before_id) }));
  expect(pages[0]).toMatchObject({ total: 4, returned: 2, page_size: 2, has_more: true, next_before_id: ids.free });
  expect(pages[1]).toMatchObject({ total: 4, returned: 2, has_more: false, next_before_id: null });
  const rows = pages.flatMap((page) => page.purchases);
  expect(rows.map(({ id }) => id)).toEqual([ids.withheld, ids.free, ids.binary, ids.text]);
  expect(rows[3]).toMatchObject({
    listing_id: Number(text.id),
    title: 'Text',
    seller: 'seller',
    price_usdc: 1.5,
    paid_usdc: 1.5,
    tx_hash: tip,
    verified_via: 'x402',
    artifact: TEXT,
    artifact_encoding: 'utf-8',
    collect: 'delivered',
    world_receipt: null,
    newer_version: null,
  });
  expect(rows[2]).toMatchObject({ artifact: BYTES.toString('base64'), artifact_encoding: 'base64' });
  expect(rows[1]).toMatchObject({ verified_via: 'free', tx_hash: null, block_number: null, price_usdc: 0 });
  const me = await meOf(seller);
  for (const { listing_id, artifact, artifact_encoding, artifact_salt } of rows.slice(1)) {
    if (artifact === null || !isHex(artifact_salt)) throw new Error('the goods are missing');
    const content = Buffer.from(artifact, artifact_encoding === 'base64' ? 'base64' : 'utf8');
    const commitment = `0x${sha256(toBytes(artifact_salt), content).toString('hex')}`;
    expect(me.listings).toContainEqual(expect.objectContaining({ id: listing_id, artifact_commitment: commitment }));
  }
});

it('purchases: shows neither goods nor salt where only the payer may collect', async () => {
  const { purchases } = await purchasesOf(buyer, { limit: '1' });
  expect(purchases[0]).toMatchObject({
    id: ids.withheld,
    artifact: null,
    artifact_salt: null,
    collect: 'sign_to_collect',
  });
  expect(JSON.stringify(purchases)).not.toContain('for the payer');
});

it('purchases: shows a caller only its own purchases, and takes no cursor from others', async () => {
  expect(await purchasesOf(seller)).toMatchObject({ purchases: [], total: 0, returned: 0, has_more: false });
  expect(await reasonOf(purchasesOf(seller, { before_id: String(ids.text) }))).toBe('cursor_invalid');
  expect(await reasonOf(purchasesOf(buyer, { before_id: String(ids.text + 1) }))).toBe('cursor_invalid');
});

it('me: walks the sales of the seller, and names buyers by handle only', async () => {
  const first = await meOf(seller, { sales_limit: '2' });
  expect(first).toMatchObject({
    merchant: { handle: 'seller', listings: 4, sales: 5 },
    sales_total: 5,
    sales_returned: 2,
    sales_page_size: 2,
    sales_has_more: true,
    sales_next_before_id: ids.free,
    purchases_total: 0,
    replies: [],
    replies_total: 0,
    replies_page_size: 20,
  });
  const rest = await meOf(seller, { sales_before_id: String(ids.free) });
  expect(rest).toMatchObject({
    sales_total: 5,
    sales_returned: 3,
    sales_has_more: false,
    sales_next_before_id: null,
  });
  expect(rest.sales).toMatchObject([
    { id: ids.binary, title: 'Bytes', buyer: 'buyer' },
    { title: 'Text', buyer: null },
    { id: ids.text, title: 'Text', buyer: 'buyer', paid_usdc: 1.5, tx_hash: tip },
  ]);
  expect(await reasonOf(meOf(buyer, { sales_before_id: String(ids.free) }))).toBe('cursor_invalid');
});

it('me: shows purchases without the goods', async () => {
  const me = await meOf(buyer, { purchases_limit: '3' });
  expect(me).toMatchObject({ purchases_total: 4, purchases_returned: 3, purchases_next_before_id: ids.binary });
  expect(JSON.stringify(me)).not.toContain('artifact_salt');
  expect(JSON.stringify(me)).not.toContain(BYTES.toString('base64'));
});

it('me: shows listings in every state, and a notice of each removal', async () => {
  const merchant = await seedMerchant(db.database);
  const kept = await seedListing(db.database, merchant.id, { title: 'Kept' });
  const gone = await seedListing(db.database, merchant.id, { title: 'Gone' });
  await removeListing(db.database, gone.id);
  const me = await meOf(merchant, { listings_limit: '1' });
  expect(me).toMatchObject({ listings_total: 2, listings_returned: 1, listings_next_before_id: Number(gone.id) });
  expect(me.listings).toMatchObject([{ id: Number(gone.id), title: REMOVAL_NOTICE, state: 'removed' }]);
  expect(me.removal_notices).toMatchObject([
    { listing_id: Number(gone.id), reason_code: 'policy', reason: 'not allowed', appeal: null },
  ]);
  const rest = await meOf(merchant, { listings_before_id: String(gone.id) });
  expect(rest.listings).toMatchObject([{ id: Number(kept.id), title: 'Kept' }]);
  expect(await reasonOf(meOf(merchant, { listings_before_id: String(text.id) }))).toBe('cursor_invalid');
  expect(await reasonOf(meOf(merchant, { replies_before_id: '1' }))).toBe('cursor_invalid');
});

it('me: counts as credits the paid fees that no listing has spent', async () => {
  const merchant = await seedMerchant(db.database);
  const spent = await seedFee(db.database, merchant.id);
  await seedFee(db.database, merchant.id);
  await seedFee(db.database, seller.id);
  await seedListing(db.database, merchant.id, { feeId: spent });
  expect(await meOf(merchant)).toMatchObject({ credits: 1 });
});

it('me: shows how much of the quotas of the day is used', async () => {
  const merchant = await seedMerchant(db.database);
  const daily = { subject: String(merchant.id), limit: 30, windowSeconds: 86_400 };
  for (const name of ['guard_runs', 'guard_runs', 'voices', 'votes', 'votes', 'votes'])
    await takeQuota(market(), { ...daily, name: `${name}_per_merchant_day` });
  const resets_at = '2026-01-07T00:00:00.000Z';
  const me = await meOf(merchant);
  expect(me).toMatchObject({ pending_codes: null, reviews: [] });
  expect(me.quotas).toEqual({
    guard_runs_per_merchant_day: { limit: 30, used: 2, resets_at },
    votes_per_merchant_day: { limit: 50, used: 3, resets_at },
    voices_per_merchant_day: { limit: 20, used: 1, resets_at },
  });
});
