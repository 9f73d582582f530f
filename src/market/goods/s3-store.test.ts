import { chmod, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTestStore, type TestStore, testBucket } from '../../../test/support/open-test-store.ts';
import { S3_TEST_SECRET, type S3Server, sendReply, startS3Server } from '../../../test/support/s3-server.ts';
import { systemClock } from '../../platform/clock.ts';
import { createLog } from '../../platform/log.ts';
import { systemRandom } from '../../platform/random.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { S3Bucket } from '../../platform/s3-client.ts';
import { readMarketConfig } from '../config.ts';
import { checkObjectStore, runMarket } from '../start.ts';
import { runSupervisor } from '../supervisor.ts';
import { openObjectStore } from './s3-store.ts';

const BYTES = systemRandom.bytes(5_000);
const WHOLE = { from: 0, to: BYTES.length };
let server: S3Server;
let opened: TestStore;

beforeAll(async () => {
  server = await startS3Server();
});
afterAll(() => server.close());
beforeEach(async () => {
  server.answered.length = 0;
  opened = await openTestStore(testBucket(server.url));
});
afterEach(async () => {
  server.fault = null;
  server.versionId = null;
  await opened.close();
});

function newName(): string {
  return `goods/${systemRandom.bytes(24).toString('hex')}`;
}

async function stored(): Promise<string> {
  const name = newName();
  await opened.store.put(name, BYTES);
  return name;
}

async function refusalOf(run: Promise<unknown>): Promise<Refusal> {
  const error = await run.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Refusal)) throw new Error('it was not refused', { cause: error });
  return error;
}

/** Writes the recorded lines as the market would. */
function printed(): string {
  const lines: string[] = [];
  const log = createLog({ stream: { write: (line) => void lines.push(line) } });
  for (const { level, event, fields } of opened.logged.lines) log[level](event, fields);
  return lines.join('');
}

describe('an object', () => {
  test('is stored, read in ranges and deleted, over a signed request each', async () => {
    const name = await stored();
    expect(await opened.store.get(name, WHOLE)).toEqual(BYTES);
    for (const [from, to] of [
      [0, 1],
      [1, 2],
      [17, 4_999],
      [4_999, 5_000],
    ] as const)
      expect(await opened.store.get(name, { from, to })).toEqual(BYTES.subarray(from, to));
    expect(await opened.store.get(name, { from: 3, to: 3 })).toEqual(Buffer.alloc(0));
    await opened.store.delete(name);
    expect(server.objects.has(name)).toBe(false);
    await opened.store.delete(name);
    expect(server.answered.toSorted()).toEqual([
      ...['DELETE 204', 'DELETE 204', 'GET 206', 'GET 206', 'GET 206', 'GET 206', 'GET 206', 'PUT 200'],
    ]);
    expect(opened.logged.lines).toEqual([]);
  });

  test('that is missing or short is an error, and no outage', async () => {
    const name = await stored();
    await expect(opened.store.get(name, { from: 0, to: 5_001 })).rejects.toThrow(/damaged: .* another range/);
    await expect(opened.store.get(name, { from: 5_000, to: 5_001 })).rejects.toThrow(/damaged: it is too short/);
    await expect(opened.store.get(newName(), WHOLE)).rejects.toThrow(/has no object goods/);
    expect(opened.logged.lines).toEqual([]);
  });

  test('whose bytes have changed is not read as a whole', async () => {
    const name = await stored();
    const object = server.objects.get(name);
    object?.bytes.writeUInt8(object.bytes.readUInt8(7) ^ 1, 7);
    await expect(opened.store.get(name, WHOLE)).rejects.toThrow(/damaged: its bytes have changed/);
    object?.bytes.writeUInt8(object.bytes.readUInt8(7) ^ 1, 7);
    expect(await opened.store.get(name, WHOLE)).toEqual(BYTES);
  });

  test.each<[string, (answer: ServerResponse) => void]>([
    ['the whole object', (answer) => sendReply(answer, { status: 200, body: BYTES })],
    ['another range', (answer) => partial(answer, 'bytes 1-4/5000', BYTES.subarray(1, 5))],
    ['another length', (answer) => partial(answer, 'bytes 0-4/5000', BYTES.subarray(0, 4))],
    ['no range', (answer) => sendReply(answer, { status: 206, body: BYTES.subarray(0, 5) })],
  ])('is not read from an answer with %s', async (_what, reply) => {
    const name = await stored();
    server.fault = (_request, answer) => {
      reply(answer);
      return true;
    };
    await expect(opened.store.get(name, { from: 0, to: 5 })).rejects.toThrow(/damaged: the store answered with/);
  });
});

function partial(answer: ServerResponse, range: string, body: Buffer): void {
  sendReply(answer, { status: 206, headers: { 'content-range': range }, body });
}

/** Closes the connection within the body. */
function cutBody(answer: ServerResponse): void {
  answer.writeHead(206, { 'content-length': 5_000, 'content-range': 'bytes 0-4999/5000' });
  answer.write(BYTES.subarray(0, 100), () => answer.destroy());
}

describe('an outage', () => {
  test('is a refusal to try again, and one line for each kind of operation', async () => {
    const name = await stored();
    server.fault = (_request, answer) => {
      sendReply(answer, { status: 500, code: 'InternalError' });
      return true;
    };
    const refusals = [];
    for (let time = 0; time < 2; time += 1) {
      refusals.push(await refusalOf(opened.store.get(name, WHOLE)));
      refusals.push(await refusalOf(opened.store.put(newName(), BYTES)));
    }
    expect(refusals.map(({ reason, options }) => [reason, options.retryAfterSeconds])).toEqual(
      refusals.map(() => ['unavailable', 5]),
    );
    server.fault = null;
    expect(await opened.store.get(name, WHOLE)).toEqual(BYTES);
    await opened.store.put(newName(), BYTES);
    const { lines } = opened.logged;
    expect(lines.map(({ event, fields }) => [event, fields['step'], fields['url'], fields['name']])).toEqual([
      ['object_store_failed', 'get', server.url, 'goods-of-the-test'],
      ['object_store_failed', 'put', server.url, 'goods-of-the-test'],
      ['object_store_recovered', 'get', server.url, 'goods-of-the-test'],
      ['object_store_recovered', 'put', server.url, 'goods-of-the-test'],
    ]);
    expect(printed()).toContain('500 InternalError');
    expect(printed()).not.toContain(S3_TEST_SECRET);
  });

  test('of a moment is not noticed', async () => {
    const name = await stored();
    let left = 2;
    server.fault = (_request, answer) => {
      left -= 1;
      if (left === 1) sendReply(answer, { status: 503, code: 'SlowDown' });
      else if (left === 0) answer.destroy();
      return left >= 0;
    };
    expect(await opened.store.get(name, WHOLE)).toEqual(BYTES);
    left = 1;
    server.fault = (_request, answer) => {
      left -= 1;
      if (left === 0) cutBody(answer);
      return left === 0;
    };
    expect(await opened.store.get(name, WHOLE)).toEqual(BYTES);
    expect(opened.logged.lines).toEqual([]);
  });

  test('by a store that says nothing ends in time', async () => {
    const name = await stored();
    const impatient = await openTestStore(testBucket(server.url), { tryMs: 50, wholeMs: 400 });
    let asked = 0;
    server.fault = () => {
      asked += 1;
      return true;
    };
    const beganAt = performance.now();
    await refusalOf(impatient.store.get(name, WHOLE));
    expect(performance.now() - beganAt).toBeLessThan(5_000);
    expect(asked).toBeLessThanOrEqual(3);
    await impatient.close();
  });

  test('by a store that cuts each body, or sends far too much, is bounded', async () => {
    const name = await stored();
    server.fault = (_request, answer) => {
      cutBody(answer);
      return true;
    };
    expect((await refusalOf(opened.store.get(name, WHOLE))).reason).toBe('unavailable');
    server.fault = (_request, answer) => {
      answer.on('error', () => {});
      const more = (): void => {
        while (!answer.destroyed && answer.write(Buffer.alloc(65_536)));
      };
      answer.on('drain', more);
      more();
      return true;
    };
    expect((await refusalOf(opened.store.get(name, WHOLE))).reason).toBe('unavailable');
    expect(printed()).toContain('no good answer');
  });

  test('by a store that redirects is not followed', async () => {
    server.fault = (request, answer) => {
      sendReply(answer, {
        status: 307,
        code: 'TemporaryRedirect',
        headers: { location: `${server.url}${request.url}` },
      });
      return true;
    };
    await refusalOf(opened.store.put(newName(), BYTES));
    expect(server.answered).toEqual([]);
  });
});

test('at most 32 requests are open at once', async () => {
  const name = await stored();
  const held: (() => void)[] = [];
  server.fault = (_request, answer) => {
    held.push(() => partial(answer, 'bytes 0-4999/5000', BYTES));
    return true;
  };
  const reading = Promise.all(Array.from({ length: 100 }, () => opened.store.get(name, WHOLE)));
  await expect.poll(() => held.length).toBe(32);
  server.fault = null;
  for (const release of held) release();
  expect((await reading).every((bytes) => bytes.equals(BYTES))).toBe(true);
  expect(server.mostOpen()).toBe(32);
});

describe('at the start', () => {
  async function faultWith(changed: Partial<S3Bucket>): Promise<string> {
    const other = await openTestStore({ ...testBucket(server.url), ...changed });
    try {
      return await checkObjectStore({ s3: other.settings }, other.logged.log).then(
        () => '',
        (error: Error) => error.message,
      );
    } finally {
      expect(JSON.stringify(other.logged.lines)).not.toContain(S3_TEST_SECRET);
      await other.close();
    }
  }

  test('a store that works is checked, and nothing stays in it', async () => {
    const before = server.objects.size;
    expect(await faultWith({})).toBe('');
    expect(server.answered).toEqual(['PUT 200', 'GET 206', 'DELETE 204']);
    expect(server.objects.size).toBe(before);
    await checkObjectStore({ s3: null }, opened.logged.log);
  });

  test.each<[string, Partial<S3Bucket>, RegExp]>([
    ['a wrong secret', { secret: 'wrong' }, /403 SignatureDoesNotMatch\)\. Put the secret .* OPENAISLE_S3_SECRET_FILE/],
    ['a wrong key id', { keyId: 'NOBODY' }, /403 InvalidAccessKeyId\)\. Set OPENAISLE_S3_KEY_ID/],
    ['a wrong region', { region: 'eu-west-9' }, /400 AuthorizationHeaderMalformed\)\. Set OPENAISLE_S3_REGION/],
    ['a wrong bucket', { bucket: 'nobodys' }, /404 NoSuchBucket\)\. Create the bucket/],
    ['nobody there', { endpoint: 'http://127.0.0.1:1' }, /unreachable\)\. Check OPENAISLE_S3_ENDPOINT/],
  ])('%s stops the market with a hint', async (_what, changed, expected) => {
    const fault = await faultWith(changed);
    expect(fault).toMatch(expected);
    expect(fault).not.toContain(changed.secret ?? S3_TEST_SECRET);
  });

  test('with one process or several, nothing else is started before', async () => {
    const { endpoint, bucket, keyId, secretFile } = opened.settings;
    const config = readMarketConfig({
      ...{ OPENAISLE_RPC_URLS: 'http://127.0.0.1:1', OPENAISLE_FACILITATOR_URL: 'http://127.0.0.1:1' },
      ...{ OPENAISLE_TREASURY: `0x${'12'.repeat(20)}`, OPENAISLE_S3_ENDPOINT: endpoint, OPENAISLE_S3_BUCKET: bucket },
      ...{ OPENAISLE_S3_KEY_ID: `${keyId}X`, OPENAISLE_S3_SECRET_FILE: secretFile },
      ...{ DATABASE_URL: 'postgresql://127.0.0.1:1/nobody', OPENAISLE_PEPPER_FILE: secretFile },
    });
    const { log, lines } = opened.logged;
    for (const starting of [runMarket({ config, log }), runSupervisor({ config, log })])
      await expect(starting).rejects.toThrow(/Set OPENAISLE_S3_KEY_ID to a key of this store/);
    expect(lines).toEqual([]);
  });

  test('a store that loses what it took, or changes it, stops the market', async () => {
    server.fault = (request, answer) => {
      if (request.method === 'GET') sendReply(answer, { status: 404, code: 'NoSuchKey' });
      return request.method === 'GET';
    };
    expect(await faultWith({})).toMatch(/could not read a probe object/);
    server.fault = (request, answer) => {
      if (request.method === 'GET') partial(answer, 'bytes 1-1023/1024', Buffer.alloc(1_023));
      return request.method === 'GET';
    };
    expect(await faultWith({})).toMatch(/could not read a probe object \(.* its bytes have changed/);
  });

  test('a bucket that keeps versions is warned of', async () => {
    server.versionId = 'null';
    await opened.store.check();
    expect(opened.logged.lines).toEqual([]);
    server.versionId = '3HL4kqtJlcpXroDTDmJ';
    await opened.store.check();
    expect(opened.logged.lines.map(({ event }) => event)).toEqual(['object_store_keeps_versions']);
  });

  test('a secret that others can read, or none, is refused', async () => {
    const parts = { clock: systemClock, random: systemRandom, log: opened.logged.log };
    const { settings } = opened;
    await chmod(settings.secretFile, 0o644);
    await expect(openObjectStore(settings, parts)).rejects.toThrow(/the S3 secret file .* has mode 0644/);
    await chmod(settings.secretFile, 0o600);
    for (const text of ['', 'two words', 'two\nlines', 'x'.repeat(257)]) {
      await writeFile(settings.secretFile, text);
      await expect(openObjectStore(settings, parts)).rejects.toThrow(/must contain one line, the secret key/);
    }
    const missing = { ...settings, secretFile: `${settings.secretFile}-not` };
    await expect(openObjectStore(missing, parts)).rejects.toThrow(/does not exist/);
  });
});
