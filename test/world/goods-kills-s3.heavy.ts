import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pruneGoods } from '../../src/market/goods/keeping/prune-goods.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { rotated } from '../suite/rotation.ts';
import { retryUntilDone } from '../support/kill-flows.ts';
import {
  bytesOfSeed,
  deleteUnlisted,
  downloadOverDeaths,
  livesOf,
  uploadOverDeaths,
} from '../support/kill-flows-uploads.ts';
import { at } from '../support/kill-runs.ts';
import { type KillWorld, openKillWorld } from '../support/kill-world.ts';
import { openTestStore, type TestStore, testBucket } from '../support/open-test-store.ts';
import { recordingLog } from '../support/recording-log.ts';
import { type S3Server, startS3Server } from '../support/s3-server.ts';
import { uploadedBody } from '../support/uploaded-goods.ts';

const DAY_MS = 86_400_000;
const OPENING_MS = 600_000;
const [REACHED_MS, POINT_MS] = [60_000, 180_000];

const POINTS = rotated(
  import.meta.filename,
  [
    { name: 'a name is entered', mark: 'insert into goods_deletions (s3_name, due_at) values' },
    { name: 'the row of a stored object is written', mark: 'insert into goods_chunks' },
    { name: 'its name leaves the table', mark: 'delete from goods_deletions where s3_name' },
    { name: 'chunks of an upload are deleted', mark: 'delete from goods_objects' },
  ].flatMap(({ name, mark }) =>
    (['before', 'after'] as const).map((when) => ({ name: `${when} ${name}`, at: at('database', when, mark) })),
  ),
);

let server: S3Server;
let opened: TestStore;
let scene: KillWorld;

beforeAll(async () => {
  server = await startS3Server();
  opened = await openTestStore(testBucket(server.url));
  const { endpoint, bucket, keyId, secretFile } = opened.settings;
  scene = await openKillWorld({
    environment: {
      ...{ OPENAISLE_S3_ENDPOINT: endpoint, OPENAISLE_S3_BUCKET: bucket },
      ...{ OPENAISLE_S3_KEY_ID: keyId, OPENAISLE_S3_SECRET_FILE: secretFile },
    },
  });
}, OPENING_MS);
afterAll(async () => {
  await scene?.stop();
  await opened?.close();
  await server?.close();
});

async function readNames(): Promise<{ chunks: string[]; deletions: string[]; objects: string[] }> {
  const { database } = scene.world.db;
  const namesIn = async (rows: Promise<{ name: string }[]>): Promise<string[]> =>
    (await rows).map(({ name }) => name).sort();
  return {
    chunks: await namesIn(database.rows(sql`select s3_name as name from goods_chunks`)),
    deletions: await namesIn(database.rows(sql`select s3_name as name from goods_deletions`)),
    objects: [...server.objects.keys()].sort(),
  };
}

async function pruneAt(ms: number): Promise<void> {
  const clock = { ...systemClock, now: () => systemClock.now() + ms };
  await pruneGoods({ database: scene.world.db.database, clock, log: recordingLog().log, objectStore: opened.store });
}

let seed = 0;

it.each(POINTS)(
  'killed $name: the goods are sold whole, and every object has a chunk or waits for its deletion',
  async ({ at: point }) => {
    seed += 1;
    const bytes = bytesOfSeed(seed);
    const { key } = scene.keeper;
    const lives = livesOf(scene);
    const { database } = scene.world.db;
    const before = scene.market.deaths();
    await scene.arm(point);
    const path = await uploadOverDeaths(lives, { key, bytes, withChecksums: seed % 2 === 0 });
    const body = uploadedBody(path.slice(path.lastIndexOf('/') + 1), { price_usdc: 0 });
    await retryUntilDone(scene, () => scene.ask('POST', '/api/listing', { key, body }));
    const { id } = await database.one<{ id: bigint }>(sql`select id from listings where title = ${body.title}`);
    expect((await downloadOverDeaths(lives, id, { key, bytes: bytes.length })).equals(bytes)).toBe(true);
    await uploadOverDeaths(lives, { key, bytes: bytes.subarray(0, 600_000), withChecksums: false });
    await deleteUnlisted(lives, key);
    await scene.market.died(before + 1, REACHED_MS);
    const { chunks, deletions, objects } = await readNames();
    expect(objects.filter((name) => !chunks.includes(name) && !deletions.includes(name))).toEqual([]);
    expect(chunks.filter((name) => !objects.includes(name) || deletions.includes(name))).toEqual([]);
  },
  POINT_MS,
);

it('pruning deletes all that nothing refers to, and nothing else', async () => {
  const { chunks, objects } = await readNames();
  expect(objects.length).toBeGreaterThan(chunks.length);
  await pruneAt(2 * DAY_MS);
  await pruneAt(33 * DAY_MS);
  const left = await readNames();
  expect(left).toEqual({ chunks, deletions: [], objects: chunks });
  process.stdout.write(
    `kills under uploads to S3: ${POINTS.length} points, ${objects.length} objects, ${chunks.length} kept\n`,
  );
});
