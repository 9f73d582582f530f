import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';
import { reasonOf } from '../../../../test/support/ask.ts';
import { testDatabase } from '../../../../test/support/database.ts';
import { ownText } from '../../../../test/support/listing-desk.ts';
import { act, eventsOf, holdTransactionOpen, untilWaiting } from '../../../../test/support/listing-life.ts';
import { marketContext } from '../../../../test/support/market-context.ts';
import { type SeededMerchant, seedFreePurchase, seedListing, seedMerchant } from '../../../../test/support/seed.ts';
import { type SeededUpload, seedUpload } from '../../../../test/support/seed-upload.ts';
import { artifactOf, bytesOf, uploadRow } from '../../../../test/support/uploaded-goods.ts';
import { endpoints } from '../../../contract/index.ts';
import { sha256 } from '../../../platform/canonical-json.ts';
import { toHex } from '../../../platform/hex.ts';
import type { ObjectStore } from '../../../platform/object-store.ts';
import type { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { readObject } from '../../goods/chunk-store.ts';
import { editListing } from './edit-listing.ts';

const db = testDatabase();
let market: Market;
let seller: SeededMerchant;
let other: SeededMerchant;

beforeAll(async () => {
  market = marketContext({ database: db.database });
  await seedMerchant(db.database);
  seller = await seedMerchant(db.database, { handle: 'the-seller' });
  other = await seedMerchant(db.database);
});

const edit = (id: bigint, body: object, of: Market = market) =>
  act(of, endpoints.editListing, editListing, { id, body, caller: seller });
const free = async (artifact: string | Buffer = 'old goods'): Promise<bigint> =>
  (await seedListing(db.database, seller.id, { priceUnits: 0n, artifact })).id;
const upload = (bytes: Buffer, merchant = seller): Promise<SeededUpload> => seedUpload(market, merchant.id, { bytes });
const large = () => market.random.bytes(700_000);

async function freeUpload(bytes: Buffer): Promise<{ id: bigint; uploaded: SeededUpload }> {
  const [id, uploaded] = [await free(), await upload(bytes)];
  await edit(id, { artifact_upload: uploaded.id });
  return { id, uploaded };
}

const chunksOf = async (objectId: bigint): Promise<number> =>
  (await db.database.rows(sql`select from goods_chunks where object_id = ${objectId}`)).length;

describe('new goods of a free listing', () => {
  it('may be an upload in place of a string, under its commitment', async () => {
    const [id, bytes] = [await free(), large()];
    const { id: uploadId, objectId } = await upload(bytes);
    const { listing } = await edit(id, { artifact_upload: uploadId });
    const row = await artifactOf(db.database, id);
    expect(row).toMatchObject({ content: null, object_id: objectId, bytes: bytes.length, encoding: 'base64' });
    expect(row.media_type).toBe('application/octet-stream');
    expect(listing.artifact_commitment).toBe(toHex(sha256(row.salt, bytes)));
    expect(await uploadRow(db.database, uploadId)).toMatchObject({ object_id: null, listing_id: id });
    expect((await eventsOf(db.database, id)).map(({ detail }) => detail)).toEqual([
      {
        ...{ listing_id: Number(id), merchant_id: Number(seller.id) },
        fields: ['artifact', 'artifact_encoding', 'artifact_media_type'],
        artifact_commitment: listing.artifact_commitment,
      },
    ]);
  });

  it('may be another upload, or a string again; the bytes that were replaced are deleted', async () => {
    const [first, second] = [large(), Buffer.from('few bytes')];
    const { id, uploaded } = await freeUpload(first);
    const next = await upload(second);
    await edit(id, { artifact_upload: next.id, artifact_media_type: 'text/plain', artifact_filename: 'few.txt' });
    expect((await bytesOf(market, id)).equals(second)).toBe(true);
    expect(await artifactOf(db.database, id)).toMatchObject({ media_type: 'text/plain', filename: 'few.txt' });
    expect(await chunksOf(uploaded.objectId)).toBe(0);
    await edit(id, { artifact: 'a string' });
    const row = await artifactOf(db.database, id);
    expect(row).toMatchObject({ content: Buffer.from('a string'), object_id: null, bytes: 8, encoding: 'utf-8' });
    expect(sha256(row.salt, 'a string').equals(row.commitment)).toBe(true);
    expect(await chunksOf(next.objectId)).toBe(0);
    const objects = [uploaded.objectId, next.objectId];
    expect(await db.database.rows(sql`select from goods_objects where id = any(${objects}::bigint[])`)).toEqual([]);
  });

  it('stay as they are when only texts change, small or large', async () => {
    for (const bytes of [large(), Buffer.from(ownText())]) {
      const { id } = await freeUpload(bytes);
      const before = await artifactOf(db.database, id);
      await edit(id, { title: 'Only a new title', description: 'Only new words' });
      expect(await artifactOf(db.database, id)).toEqual(before);
      expect((await bytesOf(market, id)).equals(bytes)).toBe(true);
      await edit(id, { title: `Goods ${id}` });
    }
  });

  it('stay, without an event, when the same edit comes again, also at the same time', async () => {
    const { id, uploaded } = await freeUpload(large());
    await edit(id, { artifact_upload: uploaded.id });
    expect(await eventsOf(db.database, id)).toHaveLength(1);
    const next = await upload(large());
    const before = await holdTransactionOpen(db.database, async (tx) => {
      await tx.run(sql`select from listings where id = ${id} for update`);
    });
    const edits = Promise.all([1, 2].map(() => edit(id, { artifact_upload: next.id })));
    await untilWaiting(db.database, 2);
    await before.commit();
    const [one, two] = await edits;
    expect(one).toEqual(two);
    expect(await eventsOf(db.database, id)).toHaveLength(2);
  });

  it('leave and enter the near guard with their size', async () => {
    const shapes = (id: bigint) => db.database.rows(sql`select from artifact_shapes where listing_id = ${id}`);
    const text = ownText();
    const { id } = await freeUpload(Buffer.from(text));
    expect(await shapes(id)).toHaveLength(1);
    const copy = await upload(Buffer.from(text.toUpperCase()));
    const second = await free();
    expect(await reasonOf(edit(second, { artifact_upload: copy.id }))).toBe('duplicate_listing');
    await edit(id, { artifact_upload: (await upload(large())).id });
    expect(await shapes(id)).toEqual([]);
    await edit(second, { artifact_upload: copy.id });
    expect(await shapes(second)).toHaveLength(1);
  });
});

describe('an upload is refused in an edit', () => {
  const refusalOf = async (attempt: Promise<unknown>) => {
    const { reason, options } = (await attempt.then(
      () => ({ reason: 'none', options: {} }),
      (error: unknown) => error,
    )) as Pick<Refusal, 'reason' | 'options'>;
    return [reason, ...(options.errors ?? []).map(({ path }) => path)];
  };

  it('of goods that cost something, that have a taker, and with a string or its encoding', async () => {
    const { id: uploadId } = await upload(large());
    const priced = (await seedListing(db.database, seller.id)).id;
    expect(await refusalOf(edit(priced, { artifact_upload: uploadId }))).toEqual(['field_fixed', 'artifact_upload']);
    const taken = await free();
    await seedFreePurchase(db.database, taken, other.id);
    expect(await refusalOf(edit(taken, { artifact_upload: uploadId }))).toEqual(['listing_closed', 'artifact_upload']);
    const id = await free();
    const both = { artifact: 'x', artifact_upload: uploadId };
    expect(await refusalOf(edit(id, both))).toEqual(['invalid_fields', 'artifact_upload']);
    const encoded = { artifact_upload: uploadId, artifact_encoding: 'base64' };
    expect(await refusalOf(edit(id, encoded))).toEqual(['invalid_fields', 'artifact_encoding']);
    expect(await uploadRow(db.database, uploadId)).toMatchObject({ listing_id: null, ended_at: null });
  });

  it('that is of another merchant, unfinished, or listed elsewhere', async () => {
    const id = await free();
    const foreign = await upload(large(), other);
    expect(await refusalOf(edit(id, { artifact_upload: foreign.id }))).toEqual(['upload_not_found']);
    const open = await seedUpload(market, seller.id, { bytes: large(), received: 10 });
    expect(await refusalOf(edit(id, { artifact_upload: open.id }))).toEqual(['upload_unfinished']);
    const { uploaded } = await freeUpload(large());
    expect(await refusalOf(edit(id, { artifact_upload: uploaded.id }))).toEqual(['upload_ended']);
    expect(await eventsOf(db.database, id)).toEqual([]);
  });
});

it('in a store outside of the database, goods are edited in both directions, and replaced bytes are due for deletion', async () => {
  const held = new Map<string, Buffer>();
  const objectStore: ObjectStore = {
    put: async (name, bytes) => void held.set(name, Buffer.from(bytes)),
    get: async (name, { from, to }) => held.get(name)?.subarray(from, to) ?? Buffer.alloc(0),
    delete: async (name) => void held.delete(name),
  };
  const outside = { ...market, objectStore };
  const [bytes, small] = [large(), Buffer.from(ownText())];
  const [one, two] = [
    await seedUpload(outside, seller.id, { bytes }),
    await seedUpload(outside, seller.id, { bytes: small }),
  ];
  const id = await free();
  await edit(id, { artifact_upload: one.id }, outside);
  await edit(id, { artifact_upload: two.id }, outside);
  await edit(id, { title: `Renamed ${id}` }, outside);
  expect((await bytesOf(outside, id)).equals(small)).toBe(true);
  const due = await db.database.rows<{ s3_name: string }>(sql`select s3_name from goods_deletions`);
  expect(due).toHaveLength(2);
  await edit(id, { artifact: 'a string' }, outside);
  expect(await db.database.rows(sql`select from goods_deletions`)).toHaveLength(3);
  expect(held.size).toBe(3);
  const left = readObject(outside, one.objectId, { from: 0, to: bytes.length });
  await expect(left.next()).rejects.toThrow('has no bytes');
});
