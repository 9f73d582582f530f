import sql from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { listingDesk, type Made } from '../../../test/support/listing-desk.ts';
import { authorizationOf, holdTransactionOpen, opener, untilWaiting } from '../../../test/support/listing-life.ts';
import { type SeededMerchant, seedMerchant } from '../../../test/support/seed.ts';
import { newGoods } from '../../../test/support/trade.ts';
import { newListing } from '../../contract/listings.ts';
import type { Tx } from '../../platform/database/database.ts';
import { toHex } from '../../platform/hex.ts';
import { systemRandom } from '../../platform/random.ts';
import { openAttempt } from '../payments/paths/x402/store.ts';
import type { GoodsRequest } from './check-goods.ts';
import { reserveGoods } from './create-listing.ts';
import { bodyHashOf, guardKeyOf, readGoods, readVersion } from './read-goods.ts';
import { releaseGuardEntry } from './store.ts';

const NOW = Date.UTC(2026, 0, 20, 12);
const db = testDatabase();
const desk = listingDesk(db, { startMs: NOW });
let keeper: SeededMerchant;

beforeAll(async () => {
  keeper = await seedMerchant(db.database, { handle: 'the-keeper' });
});

/** Makes a listing, and a request for a newer version with the same title and artifact. */
async function makeTwoVersions(): Promise<{ first: Made['listing']; request: GoodsRequest }> {
  const body = newGoods();
  const first = await desk.list(keeper, body);
  const rawBody = { ...body, price_usdc: 7, supersedes: first.id };
  const read = newListing.parse(rawBody);
  const goods = readGoods(read, { artifact_bytes: 1_000 });
  const request = {
    merchant: { ...keeper, maintainer: true, keyId: 1n },
    goods,
    version: readVersion(read),
    rawBody,
    bodyHash: bodyHashOf(rawBody),
    guardKey: guardKeyOf(goods, keeper.id),
  };
  return { first, request };
}

/** Opens a fee without reading the chain. */
async function openFee(tx: Tx, request: GoodsRequest): Promise<bigint> {
  const payment = await openAttempt(opener(NOW), tx, {
    ...{ purpose: 'listing_fee', listingId: null, merchantId: keeper.id, bodyHash: request.bodyHash },
    ...{ payee: toHex(systemRandom.bytes(20)), valueUnits: 1_000_000n, proof: { authorization: authorizationOf({}) } },
    ...{ openedBlock: 1n, deliveryTokenHash: null },
  });
  if (payment === null) throw new Error('no payment was opened');
  await reserveGoods(tx, desk.market, request, { payment, fingerprint: null });
  return payment.id;
}

const placeOf = (key: Buffer) =>
  db.database.transaction((tx) =>
    tx.one(
      sql`select listing_id, payment_id, taken_from, expires_at from artifact_guards where guard_key = ${key} for update nowait`,
    ),
  );

it('who takes over a place, and who gives it back, waits for its listing first: an edit holds that, and then wants the place', async () => {
  const { first, request } = await makeTwoVersions();
  const id = BigInt(first.id);
  const own = { listing_id: id, payment_id: null, taken_from: null, expires_at: expect.any(Date) };
  const before = await placeOf(request.guardKey);
  expect(before).toEqual(own);
  const asAnEdit = (): ReturnType<typeof holdTransactionOpen> =>
    holdTransactionOpen(db.database, (tx) => tx.one(sql`select id from listings where id = ${id} for update`));

  const edit = await asAnEdit();
  const opening = db.database.transaction((tx) => openFee(tx, request));
  await untilWaiting(db.database);
  expect(await placeOf(request.guardKey)).toEqual(before);
  await edit.commit();
  const payment = await opening;
  expect(await placeOf(request.guardKey)).toMatchObject({ listing_id: null, payment_id: payment, taken_from: id });

  const another = await asAnEdit();
  const dropping = db.database.transaction((tx) => releaseGuardEntry(tx, payment));
  await untilWaiting(db.database);
  expect(await placeOf(request.guardKey)).toMatchObject({ payment_id: payment });
  await another.commit();
  await dropping;
  expect(await placeOf(request.guardKey)).toEqual(before);
});

it('a place that had run out is not given back', async () => {
  const { first, request } = await makeTwoVersions();
  await db.database.run(sql`update artifact_guards set expires_at = ${new Date(NOW)} where listing_id = ${first.id}`);
  const payment = await db.database.transaction((tx) => openFee(tx, request));
  expect(await placeOf(request.guardKey)).toMatchObject({ payment_id: payment, taken_from: null });
  await db.database.transaction((tx) => releaseGuardEntry(tx, payment));
  expect(await db.database.rows(sql`select from artifact_guards where guard_key = ${request.guardKey}`)).toEqual([]);
});

it('a fee for what was superseded meanwhile is not opened', async () => {
  const { first, request } = await makeTwoVersions();
  await desk.list(keeper, { supersedes: first.id });
  await expect(db.database.transaction((tx) => openFee(tx, request))).rejects.toMatchObject({
    reason: 'already_superseded',
  });
});
