import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql, { raw } from 'sql-template-tag';
import { expect, onTestFinished, test } from 'vitest';
import { systemRandom } from '../../src/platform/random.ts';
import { createKillSwitch, type KillPostgres, startKillPostgres } from '../support/kill-postgres.ts';
import { settableClock } from '../support/market-context.ts';
import { seedFee, seedListing } from '../support/seed.ts';
import {
  askTus,
  createUpload,
  faultsOf,
  openPatch,
  patchUpload,
  readOffset,
  readUpload,
  startUploadStage,
  type UploadStage,
  type UploadStageOptions,
} from '../support/upload-stage.ts';

async function open(options: UploadStageOptions = {}): Promise<UploadStage> {
  const stage = await startUploadStage(options);
  onTestFinished(async () => {
    expect(faultsOf(stage)).toEqual([]);
    await stage.stop();
  });
  return stage;
}

const create = (stage: UploadStage, key: string, bytes: number) =>
  askTus(stage.url, 'POST', '/api/upload', { key, headers: { 'upload-length': String(bytes) } });
const reasonOf = ({ status, body }: Awaited<ReturnType<typeof askTus>>) => [status, body['reason']];

test('a merchant has at most three open uploads, and twice the largest size staged, also when it asks at once', async () => {
  const stage = await open({ limits: { artifact_bytes: 1_000_000 } });
  const { key } = await stage.join('owner');
  const atOnce = await Promise.all(Array.from({ length: 8 }, () => create(stage, key, 10)));
  expect(atOnce.map(({ status }) => status).toSorted()).toEqual([201, 201, 201, 409, 409, 409, 409, 409]);
  const refused = atOnce.find(({ status }) => status === 409);
  expect(refused?.body).toMatchObject({
    reason: 'too_many_uploads',
    detail: expect.stringContaining('3 of at most 3'),
  });
  const paths = atOnce.flatMap(({ headers }) => headers.get('location') ?? []).map((url) => new URL(url).pathname);
  for (const path of paths) await askTus(stage.url, 'DELETE', path, { key });
  // Complete uploads are not open, but their bytes count.
  const large = await createUpload(stage, key, 1_000_000);
  await patchUpload(stage, large, { key, offset: 0, body: Buffer.alloc(1_000_000) });
  await createUpload(stage, key, 999_999);
  expect(reasonOf(await create(stage, key, 2))).toEqual([409, 'too_many_uploads']);
  expect((await create(stage, key, 1)).status).toBe(201);
  expect(reasonOf(await create(stage, key, 1_000_001))).toEqual([413, 'upload_too_large']);
  // Others are not held back.
  const other = await stage.join('other');
  expect((await create(stage, other.key, 1_000_000)).status).toBe(201);
});

test('megabytes are counted by network, and by merchant for one that has paid a fee', async () => {
  const stage = await open({
    limits: { upload_megabytes_per_ip_hour: 2, upload_megabytes_per_merchant_hour: 3, upload_megabytes_per_hour: 8 },
  });
  const stranger = await stage.join('stranger');
  const seller = await stage.join('seller');
  await seedListing(stage.db.database, seller.id, { feeId: await seedFee(stage.db.database, seller.id) });
  const fill = async (key: string): Promise<(number | unknown)[]> => {
    const answers: (number | unknown)[] = [];
    const path = await createUpload(stage, key, 20_000_000);
    for (let offset = 0; answers.at(-1) !== 'rate_limited'; offset += 900_000) {
      const answer = await patchUpload(stage, path, { key, offset, body: Buffer.alloc(900_000) });
      answers.push(answer.status === 204 ? 204 : answer.body['reason']);
      if (answer.status !== 204) expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    }
    return answers;
  };
  expect(await fill(stranger.key)).toEqual([204, 204, 'rate_limited']);
  expect(await fill(seller.key)).toEqual([204, 204, 204, 'rate_limited']);
  // Requests without bytes count too, so rows are not free.
  const statuses: number[] = [];
  while (!statuses.includes(429)) statuses.push((await create(stage, stranger.key, 1)).status);
  expect(statuses.length).toBeLessThan(5);
});

test('beyond the bytes that the market keeps nothing more is begun, and reads go on', async () => {
  const stage = await open({ limits: { goods_megabytes_total: 1 } });
  const { id, key } = await stage.join('owner');
  await seedListing(stage.db.database, id, { feeId: await seedFee(stage.db.database, id) });
  const path = await createUpload(stage, key, 900_000);
  const answer = await create(stage, key, 200_000);
  expect(answer.body).toMatchObject({ reason: 'storage_full', do_not_pay_again: false, retry_after_seconds: 300 });
  // An upload that was begun has its place.
  expect((await patchUpload(stage, path, { key, offset: 0, body: Buffer.alloc(900_000) })).status).toBe(204);
  expect((await fetch(`${stage.url}/api/events`)).status).toBe(200);
  await askTus(stage.url, 'DELETE', path, { key });
  expect((await create(stage, key, 200_000)).status).toBe(201);
});

test('merchants without a paid fee never stage more than a tenth of all bytes together', async () => {
  const stage = await open({ limits: { goods_megabytes_total: 1 } });
  const seller = await stage.join('seller');
  await seedListing(stage.db.database, seller.id, { feeId: await seedFee(stage.db.database, seller.id) });
  const [one, two] = [await stage.join('one'), await stage.join('two')];
  expect((await create(stage, one.key, 60_000)).status).toBe(201);
  expect(reasonOf(await create(stage, two.key, 60_000))).toEqual([503, 'storage_full']);
  expect((await create(stage, two.key, 30_000)).status).toBe(201);
  expect((await create(stage, seller.key, 500_000)).status).toBe(201);
});

test('the reserve of the disk is kept, where the database is on it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-disk-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const limits = { storage_reserve_megabytes: 1_000_000_000 };
  const embedded = await open({ limits, config: { databaseUrl: null, dataDir: folder } });
  const { key } = await embedded.join('owner');
  expect(reasonOf(await create(embedded, key, 10))).toEqual([503, 'storage_full']);
  const elsewhere = await open({ limits, config: { dataDir: folder } });
  const other = await elsewhere.join('owner');
  expect((await create(elsewhere, other.key, 10)).status).toBe(201);
});

test('a database that refuses a chunk loses nothing that was acknowledged', async () => {
  const stage = await open();
  const owner = await stage.join('owner');
  const { key } = owner;
  const body = systemRandom.bytes(1_500_000);
  const path = await createUpload(stage, key, body.length);
  const refuseWith = (code: string): Promise<number> =>
    stage.db.database.run(
      sql`create or replace function refuse() returns trigger language plpgsql as ${raw(`$$ begin
        if new.start >= 1048576 then raise exception 'on purpose' using errcode = '${code}'; end if;
        return new; end $$`)}`,
    );
  for (const [code, reason] of [
    ['53100', 'storage_full'],
    ['57000', 'unavailable'],
  ] as const) {
    await refuseWith(code);
    await stage.db.database.run(
      sql`create or replace trigger refuse before insert on goods_chunks for each row execute function refuse()`,
    );
    const offset = await readOffset(stage, key, path);
    const answer = await patchUpload(stage, path, { key, offset, body: body.subarray(offset) });
    expect(reasonOf(answer)).toEqual([503, reason]);
    expect(await readOffset(stage, key, path)).toBe(1_048_576);
  }
  await stage.db.database.run(sql`drop trigger refuse on goods_chunks`);
  const rest = await patchUpload(stage, path, { key, offset: 1_048_576, body: body.subarray(1_048_576) });
  expect(rest.status).toBe(204);
  expect((await readUpload(stage, owner, path)).sha256).not.toBeNull();
});

test('a body that comes too slowly is cut with 408, and what came of it is kept', async () => {
  const clock = settableClock(Date.now());
  const stage = await open({ clock });
  const { key } = await stage.join('owner');
  const path = await createUpload(stage, key, 2_000_000);
  const patch = openPatch(stage, path, { key, offset: 0, bytes: 2_000_000 });
  await patch.write(Buffer.alloc(600_000));
  await expect.poll(() => readOffset(stage, key, path)).toBe(524_288);
  clock.set(clock.now() + 600_000);
  expect(await patch.answer).toMatchObject({ status: 408, reason: 'request_timeout' });
  await expect.poll(() => readOffset(stage, key, path)).toBe(600_000);
  const rest = await patchUpload(stage, path, { key, offset: 600_000, body: Buffer.alloc(1_400_000) });
  expect(rest.status).toBe(204);
});

test('an upload expires after 24 hours, unless a fee or a listing has its bytes', async () => {
  const clock = settableClock(Date.now());
  const stage = await open({ clock });
  const owner = await stage.join('owner');
  const { key } = owner;
  const begun = await createUpload(stage, key, 10);
  const filled: string[] = [];
  for (let one = 0; one < 2; one += 1) {
    const path = await createUpload(stage, key, 10);
    await patchUpload(stage, path, { key, offset: 0, body: systemRandom.bytes(10) });
    filled.push(path);
  }
  const [held = '', listed = ''] = filled;
  const { id } = await seedListing(stage.db.database, owner.id);
  const fee = await seedFee(stage.db.database, owner.id);
  const idOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
  await stage.db.database.run(
    sql`update uploads set payment_id = (select payment_id from fees where id = ${fee}) where id = ${idOf(held)}`,
  );
  await stage.db.database.run(
    sql`update uploads set listing_id = ${id}, object_id = null, ended_at = now() where id = ${idOf(listed)}`,
  );
  for (const path of [held, listed]) {
    expect(reasonOf(await askTus(stage.url, 'DELETE', path, { key }))).toEqual([409, 'upload_in_use']);
    const head = await askTus(stage.url, 'HEAD', path, { key });
    expect([head.status, head.headers.get('upload-offset'), head.headers.get('upload-expires')]).toEqual([
      200,
      '10',
      null,
    ]);
  }
  clock.set(Date.now() + 24 * 3_600_000 + 60_000);
  expect(reasonOf(await patchUpload(stage, begun, { key, offset: 0, body: Buffer.alloc(10) }))).toEqual([
    410,
    'upload_ended',
  ]);
  expect((await askTus(stage.url, 'HEAD', held, { key })).status).toBe(200);
  // An expired upload is not open any more.
  for (let one = 0; one < 3; one += 1) expect((await create(stage, key, 10)).status).toBe(201);
});

test('while the database is away uploads are unavailable, and go on where they stood', async () => {
  const wires: KillPostgres[] = [];
  const stage = await open({
    databaseUrl: async (db) => {
      const wire = await startKillPostgres(db.url, createKillSwitch());
      wires.push(wire);
      return wire.url;
    },
  });
  const [wire] = wires;
  if (wire === undefined) throw new Error('the market has no wire to its database');
  onTestFinished(() => wire.close());
  const { key } = await stage.join('owner');
  const path = await createUpload(stage, key, 2_000_000);
  const patch = openPatch(stage, path, { key, offset: 0, bytes: 2_000_000 });
  await patch.write(Buffer.alloc(700_000));
  await expect.poll(() => readOffset(stage, key, path)).toBe(524_288);
  wire.leadTo('postgresql://127.0.0.1:1/nowhere');
  wire.cut();
  await patch.write(Buffer.alloc(1_300_000));
  patch.end();
  expect(await patch.answer).toMatchObject({ status: 503, reason: 'unavailable' });
  expect(reasonOf(await create(stage, key, 5))).toEqual([503, 'unavailable']);
  wire.leadTo(stage.db.url);
  await expect.poll(() => readOffset(stage, key, path).catch(() => -1)).toBe(524_288);
  const rest = await patchUpload(stage, path, { key, offset: 524_288, body: Buffer.alloc(2_000_000 - 524_288) });
  expect(rest.status).toBe(204);
});
