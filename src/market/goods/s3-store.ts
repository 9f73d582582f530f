import { createHash } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import { ConfigError } from '../../platform/config.ts';
import type { Log } from '../../platform/log.ts';
import type { ObjectStore } from '../../platform/object-store.ts';
import { readPrivate } from '../../platform/private-file.ts';
import type { Random } from '../../platform/random.ts';
import { Refusal } from '../../platform/refusal.ts';
import { createS3Client, type S3Answer, type S3Client, S3Failure, type S3Timeouts } from '../../platform/s3-client.ts';
import type { S3Settings } from '../context.ts';

export interface OpenObjectStore extends ObjectStore {
  /** Stores, reads and deletes an object. Throws a ConfigError that says what is wrong. */
  check(): Promise<void>;
  close(): void;
}

interface StoreParts {
  clock: Clock;
  random: Random;
  log: Log;
  timeouts?: S3Timeouts;
}

/** Header that the store keeps with an object. Whole objects are compared with it when they are read. */
const HASH_HEADER = 'x-amz-meta-sha256';
const RETRY_AFTER_SECONDS = 5;
const PROBE_BYTES = 1_024;

/** Opens the store of uploaded goods that the operator configured. Sends no request. */
export async function openObjectStore(settings: S3Settings, parts: StoreParts): Promise<OpenObjectStore> {
  const { endpoint, bucket, region, keyId, secretFile } = settings;
  const client = createS3Client({ endpoint, bucket, region, keyId, secret: await readSecret(secretFile) }, parts);
  const report = createOutageLog(parts.log, { url: endpoint, name: bucket });
  return {
    put: (name, bytes) => report('put', async () => void (await putObject(client, name, bytes))),
    get: (name, range) => report('get', () => getObject(client, name, range)),
    delete: (name) => report('delete', () => deleteObject(client, name)),
    check: () => checkBucket(client, parts),
    close: client.close,
  };
}

/** Error messages never quote the file. */
async function readSecret(file: string): Promise<string> {
  const text = await readPrivate(file, 'S3 secret');
  if (text === null)
    throw new Error(`the S3 secret file ${file} does not exist. Put the secret key of the bucket into it`);
  const secret = text.trim();
  if (/^[\x21-\x7e]{1,256}$/.test(secret)) return secret;
  throw new Error(`the S3 secret file ${file} must contain one line, the secret key`);
}

type Operation = 'put' | 'get' | 'delete';

/** Turns an outage of the store into a refusal, and logs it once for each kind of operation. */
function createOutageLog(log: Log, store: { url: string; name: string }) {
  const failing = new Set<Operation>();
  return async <T>(step: Operation, run: () => Promise<T>): Promise<T> => {
    try {
      const result = await run();
      if (failing.delete(step)) log.info('object_store_recovered', { ...store, step });
      return result;
    } catch (error) {
      if (!(error instanceof S3Failure)) throw error;
      if (!failing.has(step)) log.error('object_store_failed', { ...store, step, error });
      failing.add(step);
      throw new Refusal('unavailable', {
        detail: 'The store of uploaded files does not answer right now.',
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
  };
}

async function putObject(client: S3Client, name: string, bytes: Buffer): Promise<S3Answer> {
  const sha256 = sha256Of(bytes);
  const headers = { 'content-type': 'application/octet-stream', [HASH_HEADER]: sha256 };
  return await client.send({ method: 'PUT', name, body: { bytes, sha256 }, headers });
}

/** Reads a range. An object that is missing, short or changed is no outage: it will not come back. */
async function getObject(client: S3Client, name: string, { from, to }: { from: number; to: number }): Promise<Buffer> {
  if (from >= to) return Buffer.alloc(0);
  const headers = { range: `bytes=${from}-${to - 1}` };
  const answer = await client.send({ method: 'GET', name, headers, answerBytes: to - from }).catch((error: unknown) => {
    if (isMissing(error)) throw new Error(`the S3 store has no object ${name}`, { cause: error });
    if (error instanceof S3Failure && error.status === 416) throw damagedObject(name, 'it is too short');
    throw error;
  });
  const [, first, last, size] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(answer.headers['content-range'] ?? '') ?? [];
  // A store that ignores the header answers 200 with the whole object.
  if (answer.status !== 206 || Number(first) !== from || Number(last) !== to - 1)
    throw damagedObject(name, 'the store answered with another range');
  if (answer.body.length !== to - from) throw damagedObject(name, 'the store answered with another length');
  const hash = answer.headers[HASH_HEADER];
  // A copy of the bucket may have lost the header.
  const isComparable = hash !== undefined && from === 0 && Number(size) === to;
  if (isComparable && hash !== sha256Of(answer.body)) throw damagedObject(name, 'its bytes have changed');
  return answer.body;
}

async function deleteObject(client: S3Client, name: string): Promise<void> {
  await client.send({ method: 'DELETE', name }).catch((error: unknown) => {
    // Most stores answer 204 for an object that is already gone, and some 404.
    if (!isMissing(error)) throw error;
  });
}

function isMissing(error: unknown): boolean {
  return error instanceof S3Failure && error.status === 404 && error.code !== 'NoSuchBucket';
}

function damagedObject(name: string, why: string): Error {
  return new Error(`the object ${name} of the S3 store is damaged: ${why}`);
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function checkBucket(client: S3Client, { random, log }: StoreParts): Promise<void> {
  const name = `goods/probe-${random.bytes(16).toString('hex')}`;
  const bytes = random.bytes(PROBE_BYTES);
  const range = { from: 1, to: PROBE_BYTES };
  const put = await explain('store', () => putObject(client, name, bytes));
  try {
    await explain('read', async () => {
      const read = await getObject(client, name, range);
      if (!read.equals(bytes.subarray(range.from, range.to))) throw damagedObject(name, 'its bytes have changed');
    });
  } catch (error) {
    await deleteObject(client, name).catch(() => {});
    throw error;
  }
  await explain('delete', () => deleteObject(client, name));
  if ((put.headers['x-amz-version-id'] ?? 'null') !== 'null') {
    log.warn('object_store_keeps_versions', {
      detail:
        'The bucket keeps versions, so deleted goods stay in it. Turn versioning off, or let a lifecycle rule delete former versions.',
    });
  }
}

async function explain<T>(act: 'store' | 'read' | 'delete', run: () => Promise<T>): Promise<T> {
  return await run().catch((error: unknown) => {
    if (!(error instanceof Error)) throw error;
    const hint = error instanceof S3Failure ? hintOf(error) : 'Make sure that OPENAISLE_S3_ENDPOINT names an S3 store.';
    throw new ConfigError([`the S3 store could not ${act} a probe object (${error.message}). ${hint}`]);
  });
}

const HINTS: Readonly<Record<string, string>> = {
  NoSuchBucket: 'Create the bucket, or set OPENAISLE_S3_BUCKET to one that exists.',
  InvalidAccessKeyId: 'Set OPENAISLE_S3_KEY_ID to a key of this store.',
  SignatureDoesNotMatch: 'Put the secret that belongs to OPENAISLE_S3_KEY_ID into OPENAISLE_S3_SECRET_FILE.',
  AccessDenied: 'Allow the key to put, get and delete objects under goods/ in this bucket, and to list the bucket.',
  AuthorizationHeaderMalformed: 'Set OPENAISLE_S3_REGION to the region of the bucket.',
  RequestTimeTooSkewed: 'Set the clock of this machine.',
};

function hintOf({ status, code }: S3Failure): string {
  const known = code === null ? undefined : HINTS[code];
  if (known !== undefined) return known;
  if (status !== null && status >= 300 && status < 400)
    return 'Set OPENAISLE_S3_ENDPOINT and OPENAISLE_S3_REGION to the place of the bucket.';
  return 'Check OPENAISLE_S3_ENDPOINT, and that the store is running.';
}
