import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { S3Settings } from '../../src/market/context.ts';
import { type OpenObjectStore, openObjectStore } from '../../src/market/goods/s3-store.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { S3_TIMEOUTS, type S3Bucket, type S3Timeouts } from '../../src/platform/s3-client.ts';
import { recordingLog } from './recording-log.ts';
import { S3_TEST_BUCKET, S3_TEST_KEY, S3_TEST_SECRET } from './s3-server.ts';

export interface TestStore {
  store: OpenObjectStore;
  settings: S3Settings;
  logged: ReturnType<typeof recordingLog>;
  close(): Promise<void>;
}

/** The bucket of `startS3Server`. */
export function testBucket(endpoint: string): S3Bucket {
  return { endpoint, bucket: S3_TEST_BUCKET, region: 'us-east-1', keyId: S3_TEST_KEY, secret: S3_TEST_SECRET };
}

/** Opens the market's own store on a bucket, with the secret in a file. */
export async function openTestStore(bucket: S3Bucket, timeouts: Partial<S3Timeouts> = {}): Promise<TestStore> {
  const { secret, ...place } = bucket;
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-s3-'));
  const settings = { ...place, secretFile: join(folder, 'secret') };
  await writeFile(settings.secretFile, `${secret}\n`, { mode: 0o600 });
  await chmod(settings.secretFile, 0o400);
  const logged = recordingLog();
  const parts = { clock: systemClock, random: systemRandom, log: logged.log };
  const store = await openObjectStore(settings, { ...parts, timeouts: { ...S3_TIMEOUTS, ...timeouts } });
  const close = async (): Promise<void> => {
    store.close();
    await rm(folder, { recursive: true });
  };
  return { store, settings, logged, close };
}
