import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { endpoints } from '../../src/contract/index.ts';
import { editListing } from '../../src/market/listings/changes/edit-listing.ts';
import { eraseGoods } from '../../src/market/moderation/erase-goods.ts';
import { testDatabase } from '../support/database.ts';
import { act } from '../support/listing-life.ts';
import { marketContext } from '../support/market-context.ts';
import { type SeededMerchant, seedListing, seedMerchant } from '../support/seed.ts';
import { seedUpload } from '../support/seed-upload.ts';
import { readArtifacts } from './read-artifacts.ts';

const db = testDatabase();
let client: pg.Client;
let seller: SeededMerchant;
const ids: bigint[] = [];
const BYTES = 1_300_000;

beforeAll(async () => {
  await seedMerchant(db.database);
  seller = await seedMerchant(db.database);
  const market = marketContext({ database: db.database });
  const outside = {
    ...market,
    objectStore: { put: async () => {}, get: async () => Buffer.alloc(0), delete: async () => {} },
  };
  for (const of of [null, market, outside]) {
    const { id } = await seedListing(db.database, seller.id, { priceUnits: 0n, artifact: 'a string' });
    ids.push(id);
    if (of === null) continue;
    const uploaded = await seedUpload(of, seller.id, { bytes: market.random.bytes(BYTES) });
    const body = { artifact_upload: uploaded.id };
    await act(of, endpoints.editListing, editListing, { id, body, caller: seller });
  }
  client = new pg.Client({ connectionString: db.url });
  await client.connect();
});
afterAll(() => client?.end());

/** Audits the artifacts after `tamper`, which the triggers do not see, and undoes it. */
async function auditAfter(tamper: string) {
  await client.query('begin');
  try {
    await client.query(`set local session_replication_role = replica; ${tamper}`);
    return await readArtifacts(client, () => {});
  } finally {
    await client.query('rollback');
  }
}

it('holds strings and uploads against their commitments, and counts those in another store', async () => {
  const found = await auditAfter('select');
  expect(found).toEqual({ count: 3, bytes: BYTES + 'a string'.length, elsewhere: 1, erased: 0, faults: [] });
});

it.each([
  [
    'a changed byte',
    `update goods_chunks set content = overlay(content placing 'x' from 7) where start > 0 and content is not null`,
  ],
  ['a lost chunk', 'delete from goods_chunks where start > 600000 and content is not null'],
  ['another salt', 'update artifacts set salt = sha256(salt) where object_id is not null'],
])('finds %s of an upload', async (_, tamper) => {
  const { faults } = await auditAfter(tamper);
  expect(faults).toEqual([`the artifact of listing ${ids[1]} is not what its commitment says`]);
});

it('finds an upload of another size than its listing says', async () => {
  const { faults } = await auditAfter(`update listings set artifact_bytes = 7 where id = ${ids[1]}`);
  expect(faults).toEqual([`the artifact of listing ${ids[1]} is of another size than it says`]);
});

it('takes erased goods for what the log says they are', async () => {
  const { id } = await seedListing(db.database, seller.id, { artifact: 'unlawful words' });
  await eraseGoods(marketContext({ database: db.database }), {
    ...{ listingId: id, reasonCode: 'illegal', despitePayments: false },
  });
  expect(await auditAfter('select')).toMatchObject({ count: 4, erased: 1, faults: [] });
  const { faults } = await auditAfter(`delete from events where listing_id = ${id}`);
  expect(faults).toEqual([`the goods of listing ${id} are erased, and the log does not say so`]);
});
