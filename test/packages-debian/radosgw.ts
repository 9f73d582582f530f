import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { AwsV4Signer } from 'aws4fetch';
import { systemClock } from '../../src/platform/clock.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { Refusal } from '../../src/platform/refusal.ts';
import { createS3Client, S3Failure } from '../../src/platform/s3-client.ts';
import { openTestStore } from '../support/open-test-store.ts';
import { type Radosgw, startRadosgw } from './start-radosgw.ts';

/**
 * Checks on Ceph's real S3 server what the suite checks on its own strict one. Run it with `node test/packages-debian/radosgw.ts` after
 * `apt-get install --no-install-recommends ceph-mon ceph-osd radosgw`. With `--serve` it prints the variables of a bucket and serves until
 * it is interrupted.
 */
const BYTES = systemRandom.bytes(524_288);
const WHOLE = { from: 0, to: BYTES.length };

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function newName(): string {
  return `goods/${systemRandom.bytes(24).toString('hex')}`;
}

async function checkObjects({ bucket }: Radosgw): Promise<void> {
  const { store, logged, close } = await openTestStore(bucket);
  await store.check();
  assert.deepEqual(logged.lines, []);
  const names = Array.from({ length: 64 }, newName);
  await Promise.all(names.map((name) => store.put(name, BYTES)));
  const read = await Promise.all(names.map((name) => store.get(name, WHOLE)));
  assert(read.every((bytes) => bytes.equals(BYTES)));
  const [name = ''] = names;
  for (const [from, to] of [
    [0, 1],
    [1, 2],
    [100_000, 500_001],
    [524_287, 524_288],
  ] as const)
    assert((await store.get(name, { from, to })).equals(BYTES.subarray(from, to)));
  await assert.rejects(store.get(name, { from: 0, to: 524_289 }), /another range/);
  await assert.rejects(store.get(name, { from: 524_288, to: 524_289 }), /too short/);
  await assert.rejects(store.get(newName(), WHOLE), /has no object goods/);
  await Promise.all(names.map((one) => store.delete(one)));
  await store.delete(name);
  await assert.rejects(store.get(name, WHOLE), /has no object goods/);
  assert.deepEqual(logged.lines, []);
  await close();
  say('64 objects were stored, read whole and in ranges, and deleted');
}

async function checkWrongSettings({ bucket }: Radosgw): Promise<void> {
  for (const [changed, expected] of [
    [{ secret: 'wrong' }, /SignatureDoesNotMatch/],
    [{ keyId: 'NOBODY' }, /InvalidAccessKeyId/],
    [{ bucket: 'nobodys' }, /NoSuchBucket/],
    [{ endpoint: 'http://127.0.0.1:1' }, /unreachable/],
  ] as const) {
    const { store, close } = await openTestStore({ ...bucket, ...changed });
    await assert.rejects(store.check(), expected);
    await close();
  }
  say('wrong settings were refused at the start, each with its hint');
}

async function checkSignatures({ bucket }: Radosgw): Promise<void> {
  const late = { ...systemClock, now: () => systemClock.now() - 3_600_000 };
  const client = createS3Client(bucket, { clock: late, random: systemRandom });
  const isTooLate = (error: unknown): boolean => error instanceof S3Failure && error.code === 'RequestTimeTooSkewed';
  await assert.rejects(client.send({ method: 'GET', name: newName() }), isTooLate);
  client.close();
  // The market relies on the store to refuse bytes that changed on the way.
  const url = `${bucket.endpoint}/${bucket.bucket}/${newName()}`;
  const hash = createHash('sha256').update(BYTES).digest('hex');
  const signer = new AwsV4Signer({
    ...{ method: 'PUT', url, service: 's3', region: bucket.region },
    ...{ accessKeyId: bucket.keyId, secretAccessKey: bucket.secret, headers: { 'x-amz-content-sha256': hash } },
  });
  const { headers } = await signer.sign();
  const changed = await fetch(url, { method: 'PUT', headers, body: Uint8Array.from(BYTES).reverse() });
  assert.equal(changed.status, 400);
  assert.match(await changed.text(), /XAmzContentSHA256Mismatch/);
  say('a request of another hour was refused, and a body that does not match its hash');
}

async function checkVersions({ bucket, admin }: Radosgw): Promise<void> {
  const client = createS3Client(bucket, { clock: systemClock, random: systemRandom });
  const bytes = Buffer.from('<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>');
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  await client.send({ method: 'PUT', name: '?versioning', body: { bytes, sha256 } });
  client.close();
  const { store, logged, close } = await openTestStore(bucket);
  await store.check();
  assert.deepEqual(
    logged.lines.map(({ event }) => event),
    ['object_store_keeps_versions'],
  );
  await close();
  assert.match(await admin('bucket', 'list', `--bucket=${bucket.bucket}`), /probe-/);
  say('a bucket that keeps versions was noticed: the deleted probe is still in it');
}

async function checkOutage({ bucket, stopGateway, startGateway }: Radosgw): Promise<void> {
  const { store, logged, close } = await openTestStore(bucket);
  const name = newName();
  await store.put(name, BYTES);
  await stopGateway();
  await assert.rejects(store.get(name, WHOLE), (error) => error instanceof Refusal && error.reason === 'unavailable');
  await startGateway();
  assert((await store.get(name, WHOLE)).equals(BYTES));
  assert.deepEqual(
    logged.lines.map(({ event }) => event),
    ['object_store_failed', 'object_store_recovered'],
  );
  await close();
  say('a stopped server was one outage, and over once it served again');
}

const server = await startRadosgw();
try {
  if (process.argv.includes('--serve')) {
    const { endpoint, bucket, region, keyId } = server.bucket;
    const { settings, close } = await openTestStore(server.bucket);
    say(`OPENAISLE_S3_ENDPOINT=${endpoint}`);
    say(`OPENAISLE_S3_BUCKET=${bucket}`);
    say(`OPENAISLE_S3_REGION=${region}`);
    say(`OPENAISLE_S3_KEY_ID=${keyId}`);
    say(`OPENAISLE_S3_SECRET_FILE=${settings.secretFile}`);
    await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
    await close();
  } else {
    await checkObjects(server);
    await checkWrongSettings(server);
    await checkSignatures(server);
    await checkVersions(server);
    // Last, because Ceph lets changes of buckets wait for a killed gateway for half a minute.
    await checkOutage(server);
  }
} finally {
  await server.close();
}
