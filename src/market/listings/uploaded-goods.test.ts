import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';
import { reasonOf } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { listingDesk, nearText, ownText } from '../../../test/support/listing-desk.ts';
import { holdTransactionOpen, untilWaiting } from '../../../test/support/listing-life.ts';
import { type SeededMerchant, seedFee, seedMerchant } from '../../../test/support/seed.ts';
import { type SeededUpload, seedUpload, type UploadToSeed } from '../../../test/support/seed-upload.ts';
import { newGoods } from '../../../test/support/trade.ts';
import { artifactOf, bytesOf, uploadedBody, uploadRow } from '../../../test/support/uploaded-goods.ts';
import { INLINE_ARTIFACT_BYTES } from '../../contract/vocabulary.ts';
import { sha256 } from '../../platform/canonical-json.ts';
import type { Refusal } from '../../platform/refusal.ts';
import { CHUNK_BYTES } from '../goods/chunk-store.ts';
import { deleteObject } from '../goods/object-store.ts';
import { endUpload } from '../goods/uploads/store.ts';
import { LISTINGS_LOCK } from './add-listing.ts';
import { countCredits } from './fees/store.ts';

const NOW = Date.UTC(2026, 0, 20, 12);
const HOUR_MS = 3_600_000;
const db = testDatabase();
const desk = listingDesk(db, { startMs: NOW });
let keeper: SeededMerchant;
let seller: SeededMerchant;

beforeAll(async () => {
  keeper = await seedMerchant(db.database, { handle: 'the-keeper' });
  seller = await seedMerchant(db.database, { handle: 'the-seller' });
});

const large = (bytes = 2 * CHUNK_BYTES + 7) => desk.market.random.bytes(bytes);
const upload = (given: UploadToSeed, merchant = keeper): Promise<SeededUpload> =>
  seedUpload(desk.market, merchant.id, given);
const ask = (body: Record<string, unknown>, merchant = keeper) => desk.ask(merchant, body);
const listed = async (body: Record<string, unknown>, merchant = keeper) => {
  const { body: made } = await ask(body, merchant);
  if (!('listing' in made)) throw new Error('no listing was made');
  return made.listing;
};

async function refusalOf(attempt: Promise<unknown>): Promise<Pick<Refusal, 'reason' | 'options'>> {
  try {
    await attempt;
  } catch (error) {
    return error as Refusal;
  }
  throw new Error('nothing was refused');
}

async function endNow(id: string): Promise<void> {
  const now = new Date(desk.clock.now());
  await db.database.transaction(async (tx) => {
    const objectId = await endUpload(tx, id, now);
    if (objectId !== null) await deleteObject(tx, objectId, now);
  });
}

describe('a listing of an upload', () => {
  it('has its bytes, its size, and the commitment that was made of them', async () => {
    const bytes = large();
    const { id, objectId } = await upload({ bytes, filename: 'data.tar.gz', mediaType: 'application/gzip' });
    const listing = await listed(uploadedBody(id));
    expect(listing.artifact_bytes).toBe(bytes.length);
    const row = await artifactOf(db.database, BigInt(listing.id));
    expect(row).toMatchObject({ content: null, object_id: objectId, bytes: bytes.length, encoding: 'base64' });
    expect(row).toMatchObject({ media_type: 'application/gzip', filename: 'data.tar.gz' });
    expect(sha256(row.salt, bytes).equals(row.commitment)).toBe(true);
    expect((await bytesOf(desk.market, BigInt(listing.id))).equals(bytes)).toBe(true);
    expect(await uploadRow(db.database, id)).toMatchObject({
      ...{ object_id: null, payment_id: null, listing_id: BigInt(listing.id) },
      ended_at: new Date(NOW),
    });
  });

  it('takes type and name of the request before those of the upload, and is octet-stream without either', async () => {
    const named = await upload({ bytes: large(300_000), filename: 'a.bin', mediaType: 'application/gzip' });
    const own = { artifact_media_type: 'application/zip', artifact_filename: 'b.zip' };
    const first = await listed(uploadedBody(named.id, own));
    expect(await artifactOf(db.database, BigInt(first.id))).toMatchObject({
      media_type: 'application/zip',
      filename: 'b.zip',
    });
    const plain = await listed(uploadedBody((await upload({ bytes: large(300_000) })).id));
    expect(await artifactOf(db.database, BigInt(plain.id))).toMatchObject({
      media_type: 'application/octet-stream',
      filename: null,
    });
  });

  it('may be small, and is listed after a restart that lost its hash', async () => {
    const small = await listed(uploadedBody((await upload({ bytes: Buffer.from('small goods') })).id));
    expect((await bytesOf(desk.market, BigInt(small.id))).toString()).toBe('small goods');
    const bytes = large();
    const unhashed = await upload({ bytes, hashed: false });
    expect((await listed(uploadedBody(unhashed.id))).artifact_bytes).toBe(bytes.length);
  });

  it('is checked by a dry run, which leaves the upload as it is', async () => {
    const { id } = await upload({ bytes: large() }, seller);
    const before = await uploadRow(db.database, id);
    const { body } = await desk.ask(seller, uploadedBody(id), 'true');
    expect(body).toEqual({ dry_run: true, would_cost_usdc: 1 });
    expect(await uploadRow(db.database, id)).toEqual(before);
    expect(await reasonOf(ask(uploadedBody(id), seller))).toBe('payment_required');
    expect(await uploadRow(db.database, id)).toEqual(before);
  });
});

describe('the same request again', () => {
  it('gets the listing, also with another upload of the same bytes, which stays', async () => {
    const bytes = large();
    const [first, second] = [await upload({ bytes }), await upload({ bytes })];
    const body = uploadedBody(first.id);
    const made = await ask(body);
    expect(made.status).toBe(201);
    const same = expect.objectContaining({ listing_id: 'listing_id' in made.body ? made.body.listing_id : null });
    expect(await ask(body)).toEqual({ status: 200, body: same });
    expect(await ask({ ...body, artifact_upload: second.id })).toEqual({ status: 200, body: same });
    expect(await uploadRow(db.database, second.id)).toMatchObject({ listing_id: null, ended_at: null });
    const other = await refusalOf(ask({ ...body, title: 'Another title' }));
    expect(other).toMatchObject({ reason: 'upload_ended' });
  });

  it('of several at once one lists, and all answers name that listing', async () => {
    const merchant = await seedMerchant(db.database);
    await seedFee(db.database, merchant.id);
    await seedFee(db.database, merchant.id);
    const body = uploadedBody((await upload({ bytes: large() }, merchant)).id);
    const before = await holdTransactionOpen(db.database, (tx) => tx.lock(LISTINGS_LOCK));
    const asked = Promise.all([1, 2, 3].map(() => ask(body, merchant)));
    await untilWaiting(db.database, 3);
    await before.commit();
    const answers = await asked;
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 201]);
    expect(new Set(answers.map((one) => ('listing_id' in one.body ? one.body.listing_id : null))).size).toBe(1);
    expect(await countCredits(db.database, merchant.id)).toBe(1n);
  });

  it('with several uploads of the same bytes at once, one lists', async () => {
    const merchant = await seedMerchant(db.database);
    await seedFee(db.database, merchant.id);
    await seedFee(db.database, merchant.id);
    const bytes = large();
    const ids = [(await upload({ bytes }, merchant)).id, (await upload({ bytes }, merchant)).id];
    const body = uploadedBody('');
    const before = await holdTransactionOpen(db.database, (tx) => tx.lock(LISTINGS_LOCK));
    const asked = Promise.all(ids.map((id) => ask({ ...body, artifact_upload: id }, merchant)));
    await untilWaiting(db.database, 2);
    await before.commit();
    expect((await asked).map(({ status }) => status).sort()).toEqual([200, 201]);
    expect(await countCredits(db.database, merchant.id)).toBe(1n);
  });
});

describe('refused is an upload', () => {
  it('that is unknown, of another merchant, unfinished, deleted or expired', async () => {
    const foreign = await upload({ bytes: large(300_000) }, seller);
    for (const id of ['0'.repeat(22), foreign.id]) {
      expect(await refusalOf(ask(uploadedBody(id)))).toMatchObject({ reason: 'upload_not_found' });
    }
    const open = await upload({ bytes: large(), received: CHUNK_BYTES });
    expect(await refusalOf(ask(uploadedBody(open.id)))).toMatchObject({
      reason: 'upload_unfinished',
      options: { detail: `The upload has ${CHUNK_BYTES} of ${2 * CHUNK_BYTES + 7} bytes.` },
    });
    const gone = await upload({ bytes: large(300_000) });
    await endNow(gone.id);
    const [complete, unfinished] = [await upload({ bytes: large(300_000) }), open];
    desk.clock.set(NOW + 24 * HOUR_MS);
    for (const { id } of [gone, complete, unfinished]) {
      expect(await refusalOf(ask(uploadedBody(id)))).toMatchObject({ reason: 'upload_ended' });
    }
    desk.clock.set(NOW);
  });

  it('that is named along with a string or its encoding; goods without either are refused too', async () => {
    const { id } = await upload({ bytes: large(300_000) });
    const paths = async (body: Record<string, unknown>) =>
      (await refusalOf(ask(body))).options.errors?.map(({ path }) => path);
    expect(await paths({ ...newGoods(), artifact_upload: id })).toEqual(['artifact_upload']);
    expect(await paths(uploadedBody(id, { artifact_encoding: 'base64' }))).toEqual(['artifact_encoding']);
    const { artifact: _, ...neither } = newGoods();
    expect(await paths(neither)).toEqual(['artifact']);
  });

  it('before a credit is spent, and the refusal says that the fee is not due again', async () => {
    const merchant = await seedMerchant(db.database);
    await seedFee(db.database, merchant.id);
    const { id } = await upload({ bytes: large(300_000) }, merchant);
    await endNow(id);
    const { reason, options } = await refusalOf(ask(uploadedBody(id), merchant));
    expect(reason).toBe('upload_ended');
    expect(options).toMatchObject({ doNotPayAgain: true, nextStep: expect.stringContaining('not due again') });
    expect(await countCredits(db.database, merchant.id)).toBe(1n);
  });

  it('that was deleted while the request was under way', async () => {
    const { id } = await upload({ bytes: large(300_000) });
    const before = await holdTransactionOpen(db.database, async (tx) => {
      await endUpload(tx, id, new Date(NOW));
    });
    const asked = refusalOf(ask(uploadedBody(id)));
    await untilWaiting(db.database);
    await before.commit();
    expect(await asked).toMatchObject({ reason: 'upload_ended' });
  });
});

describe('the duplicate guard', () => {
  it('finds the same bytes in a string and an upload, whatever their number of characters', async () => {
    // 120 characters in 240 bytes count as few in a string.
    for (const [at, text] of [ownText(), 'ä'.repeat(120), 'short'].entries()) {
      const title = `Equal goods ${at}`;
      await listed(newGoods({ title, artifact: text }));
      const { id } = await upload({ bytes: Buffer.from(text) });
      expect(await reasonOf(ask(uploadedBody(id, { title })))).toBe('duplicate_listing');
      const reverse = `Reverse ${at}`;
      const other = at === 0 ? ownText() : `${text} and more`;
      await listed(uploadedBody((await upload({ bytes: Buffer.from(other) })).id, { title: reverse }));
      expect(await reasonOf(ask(newGoods({ title: reverse, artifact: other, price_usdc: 9 })))).toBe(
        'duplicate_listing',
      );
    }
  });

  it('finds large goods by their hash, across merchants, and not under another title', async () => {
    const bytes = large();
    await listed(uploadedBody((await upload({ bytes })).id, { title: 'Large goods' }));
    const copy = await upload({ bytes }, seller);
    expect(await reasonOf(ask(uploadedBody(copy.id, { title: ' large  GOODS' }), seller))).toBe('duplicate_listing');
    expect(await reasonOf(ask(uploadedBody(copy.id, { title: 'Other goods' }), seller))).toBe('payment_required');
  });

  it('finds small goods that are nearly the same, and none of larger ones', async () => {
    const text = ownText();
    const { id } = await listed(uploadedBody((await upload({ bytes: Buffer.from(text) })).id));
    const near = await upload({ bytes: Buffer.from(nearText(text)) });
    expect(await refusalOf(ask(uploadedBody(near.id)))).toMatchObject({ options: { fields: { listing_id: id } } });
    expect(await refusalOf(ask(newGoods({ artifact: nearText(text) })))).toMatchObject({
      options: { fields: { listing_id: id } },
    });
    const long = Buffer.from(`${ownText()} `.repeat(400));
    expect(long.length).toBeGreaterThan(INLINE_ARTIFACT_BYTES);
    const big = await listed(uploadedBody((await upload({ bytes: long })).id));
    const shapes = await db.database.rows(sql`select from artifact_shapes where listing_id = ${big.id}`);
    expect(shapes).toEqual([]);
  });
});

it('a string above the limit is refused with what to do, and one at the limit is listed', async () => {
  const { options } = await refusalOf(ask(newGoods({ artifact: 'x'.repeat(INLINE_ARTIFACT_BYTES + 1) })));
  expect(options.errors).toEqual([
    {
      path: 'artifact',
      message: `must have 1 to ${INLINE_ARTIFACT_BYTES} bytes, has ${INLINE_ARTIFACT_BYTES + 1}; larger goods are uploaded, and named by artifact_upload`,
    },
  ]);
  const most = await listed(newGoods({ artifact: 'y'.repeat(INLINE_ARTIFACT_BYTES) }));
  expect(most.artifact_bytes).toBe(INLINE_ARTIFACT_BYTES);
});
