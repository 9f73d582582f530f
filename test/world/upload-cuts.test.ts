import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ensureComplete } from '../../src/market/goods/uploads/complete-upload.ts';
import { addChunk, takeWriter } from '../../src/market/goods/uploads/store.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { makeMerchantKey, makeRecoveryCode } from '../../src/platform/secrets.ts';
import { createDice } from '../support/dice.ts';
import type { Member } from '../support/market-world.ts';
import {
  askTus,
  checksumOf,
  createUpload,
  faultsOf,
  openPatch,
  patchUpload,
  readOffset,
  readStored,
  readUpload,
  sha256Of,
  startUploadStage,
  type UploadStage,
} from '../support/upload-stage.ts';

const seed = Number(process.env['OPENAISLE_SEED'] ?? systemRandom.int(1_000_000_000));
process.stdout.write(`upload cuts: OPENAISLE_SEED=${seed}\n`);

let stage: UploadStage;
let owner: Member;

beforeAll(async () => {
  stage = await startUploadStage();
  owner = await stage.join('owner');
});

afterAll(async () => {
  expect(faultsOf(stage)).toEqual([]);
  await stage.stop();
});

const deleteAt = (path: string) => askTus(stage.url, 'DELETE', path, { key: owner.key });

/** Waits until the upload stands at that offset. */
const untilAt = (path: string, offset: number) =>
  expect.poll(() => readOffset(stage, owner.key, path), { interval: 10 }).toBe(offset);

async function countChunks(path: string): Promise<number> {
  const { objectId } = await readUpload(stage, owner, path);
  const row = await stage.db.database.one<{ chunks: bigint }>(
    sql`select count(*) as chunks from goods_chunks where object_id = ${objectId}`,
  );
  return Number(row.chunks);
}

const countPatches = (): number =>
  stage.logLines.filter(({ event, fields }) => event === 'request' && fields['method'] === 'PATCH').length;

/**
 * Sends a part of the body and cuts the connection. Returns once the request has ended, whether the server waits for more or has refused it
 * because the request before has stored its last bytes only now.
 */
async function cutAfter(path: string, body: Buffer, part: Part, headers: Record<string, string> = {}): Promise<void> {
  const before = countPatches();
  const { offset, sent } = part;
  const patch = openPatch(stage, path, { key: owner.key, offset, bytes: body.length - offset, headers });
  await patch.write(body.subarray(offset, offset + sent));
  patch.cut();
  await expect.poll(countPatches, { interval: 5 }).toBeGreaterThan(before);
}

interface Part {
  offset: number;
  sent: number;
}

/** Ways to send a part of a body. */
const WAYS = {
  whole: async (path: string, body: Buffer, { offset, sent }: Part) => {
    await patchUpload(stage, path, { key: owner.key, offset, body: body.subarray(offset, offset + sent) });
  },
  checked: async (path: string, body: Buffer, { offset, sent }: Part) => {
    const part = body.subarray(offset, offset + sent);
    const headers = { 'upload-checksum': checksumOf(part) };
    await patchUpload(stage, path, { key: owner.key, offset, body: part, headers });
  },
  'wrongly checked': async (path: string, body: Buffer, { offset, sent }: Part) => {
    const part = body.subarray(offset, offset + sent);
    const headers = { 'upload-checksum': checksumOf(Buffer.from('other')) };
    const answer = await patchUpload(stage, path, { key: owner.key, offset, body: part, headers });
    expect([409, 460]).toContain(answer.status);
  },
  cut: cutAfter,
  'cut and checked': (path: string, body: Buffer, part: Part) =>
    cutAfter(path, body, part, { 'upload-checksum': checksumOf(body.subarray(part.offset)) }),
};

/** Sends what is missing, as often as it takes. */
async function finish(path: string, body: Buffer): Promise<void> {
  for (let offset = await readOffset(stage, owner.key, path); offset < body.length; ) {
    await patchUpload(stage, path, { key: owner.key, offset, body: body.subarray(offset) });
    offset = await readOffset(stage, owner.key, path);
  }
}

describe('a connection that breaks', () => {
  test('loses nothing that was acknowledged, wherever and however it breaks', { timeout: 60_000 }, async () => {
    const dice = createDice(seed);
    const body = systemRandom.bytes(3_000_000 + dice.number(1_000_000));
    const path = await createUpload(stage, owner.key, body.length);
    let offset = 0;
    for (let step = 0; step < 40; step += 1) {
      const sent = Math.min(dice.number(Math.ceil((body.length - offset) / 8)) + 1, body.length - offset - 1);
      await WAYS[dice.pick(Object.keys(WAYS) as (keyof typeof WAYS)[])](path, body, { offset, sent });
      const next = await readOffset(stage, owner.key, path);
      expect(next).toBeGreaterThanOrEqual(offset);
      const stored = await readStored(stage, await readUpload(stage, owner, path));
      expect(stored.subarray(0, next).equals(body.subarray(0, next))).toBe(true);
      offset = next;
    }
    expect(offset).toBeGreaterThan(0);
    await finish(path, body);
    const upload = await readUpload(stage, owner, path);
    expect(upload.sha256?.toString('hex')).toBe(sha256Of(body));
    expect((await readStored(stage, upload)).equals(body)).toBe(true);
    await deleteAt(path);
  });

  test('keeps none of a body with a checksum', async () => {
    const body = systemRandom.bytes(1_500_000);
    const path = await createUpload(stage, owner.key, body.length);
    const headers = { 'upload-checksum': checksumOf(body) };
    const patch = openPatch(stage, path, { key: owner.key, offset: 0, bytes: body.length, headers });
    await patch.write(body.subarray(0, 1_200_000));
    await expect.poll(() => countChunks(path)).toBe(2);
    patch.cut();
    await expect.poll(() => countChunks(path)).toBe(0);
    expect(await readOffset(stage, owner.key, path)).toBe(0);
    expect((await patchUpload(stage, path, { key: owner.key, offset: 0, body, headers })).status).toBe(204);
    expect((await readUpload(stage, owner, path)).sha256?.toString('hex')).toBe(sha256Of(body));
    await deleteAt(path);
  });

  test('leaves no upload behind whose address the client never got', async () => {
    const body = Buffer.alloc(1_000_000, 1);
    const patch = openPatch(stage, '/api/upload', {
      ...{ key: owner.key, offset: 0, bytes: body.length },
      headers: { 'upload-length': String(body.length) },
      method: 'POST',
    });
    await patch.write(body.subarray(0, 900_000));
    const countOpen = async (): Promise<number> => {
      const row = await stage.db.database.one<{ open: bigint }>(
        sql`select count(*) as open from uploads where merchant_id = ${owner.id} and ended_at is null`,
      );
      return Number(row.open);
    };
    await expect.poll(countOpen).toBe(1);
    patch.cut();
    await expect.poll(countOpen).toBe(0);
    const row = await stage.db.database.one<{ objects: bigint }>(sql`select count(*) as objects from goods_objects`);
    expect(row.objects).toBe(0n);
  });
});

describe('two requests for one upload', () => {
  test('the newer one takes over, and the older one stores nothing more', async () => {
    const body = systemRandom.bytes(2_000_000);
    const path = await createUpload(stage, owner.key, body.length);
    const older = openPatch(stage, path, { key: owner.key, offset: 0, bytes: body.length });
    await older.write(body.subarray(0, 600_000));
    await untilAt(path, 524_288);
    const newer = await patchUpload(stage, path, {
      key: owner.key,
      offset: 524_288,
      body: body.subarray(524_288, 1_000_000),
    });
    expect(newer.status).toBe(204);
    await older.write(Buffer.alloc(1_400_000, 7));
    older.end();
    expect(await older.answer).toMatchObject({ status: 409, reason: 'upload_offset' });
    expect(await readOffset(stage, owner.key, path)).toBe(1_000_000);
    await patchUpload(stage, path, { key: owner.key, offset: 1_000_000, body: body.subarray(1_000_000) });
    const upload = await readUpload(stage, owner, path);
    expect([upload.sha256?.toString('hex'), (await readStored(stage, upload)).equals(body)]).toEqual([
      sha256Of(body),
      true,
    ]);
    await deleteAt(path);
  });

  test('at the same offset, many at once leave one consistent upload', async () => {
    const body = systemRandom.bytes(1_100_000);
    const path = await createUpload(stage, owner.key, body.length);
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => patchUpload(stage, path, { key: owner.key, offset: 0, body })),
    );
    for (const { status } of answers) expect([204, 409]).toContain(status);
    await finish(path, body);
    const upload = await readUpload(stage, owner, path);
    expect([upload.sha256?.toString('hex'), (await readStored(stage, upload)).equals(body)]).toEqual([
      sha256Of(body),
      true,
    ]);
    await deleteAt(path);
  });

  test('deleting an upload ends the request that fills it', async () => {
    const path = await createUpload(stage, owner.key, 2_000_000);
    const patch = openPatch(stage, path, { key: owner.key, offset: 0, bytes: 2_000_000 });
    await patch.write(Buffer.alloc(600_000));
    await untilAt(path, 524_288);
    expect((await deleteAt(path)).status).toBe(204);
    await patch.write(Buffer.alloc(1_400_000));
    patch.end();
    expect((await patch.answer).status).toBe(409);
    const row = await stage.db.database.one<{ chunks: bigint }>(sql`select count(*) as chunks from goods_chunks`);
    expect(row.chunks).toBe(0n);
  });
});

describe('a market that was killed', () => {
  test('between the last chunk and the hash computes the hash when it is needed', async () => {
    const body = systemRandom.bytes(700_000);
    const path = await createUpload(stage, owner.key, body.length);
    await patchUpload(stage, path, { key: owner.key, offset: 0, body: body.subarray(0, 600_000) });
    const upload = await readUpload(stage, owner, path);
    const writer = systemRandom.bytes(16);
    const now = new Date();
    await stage.db.database.transaction(async (tx) => {
      await takeWriter(tx, { id: upload.id, offset: 600_000, writer, now });
      const place = { content: body.subarray(600_000) };
      await addChunk(tx, { upload, writer, start: 600_000, bytes: 100_000, place, acknowledged: true });
    });
    const whole = await readUpload(stage, owner, path);
    expect([whole.received, whole.sha256]).toEqual([body.length, null]);
    // A client asks with HEAD until the market names the hash.
    expect((await askTus(stage.url, 'HEAD', path, { key: owner.key })).status).toBe(200);
    expect((await readUpload(stage, owner, path)).sha256?.toString('hex')).toBe(sha256Of(body));
    const [one, other] = await Promise.all([
      ensureComplete(stage.running.market, whole),
      ensureComplete(stage.running.market, whole),
    ]);
    expect([one.sha256.toString('hex'), other.sha256.toString('hex')]).toEqual([sha256Of(body), sha256Of(body)]);
    expect((await readUpload(stage, owner, path)).sha256?.toString('hex')).toBe(sha256Of(body));
    await deleteAt(path);
    await expect(ensureComplete(stage.running.market, whole)).rejects.toMatchObject({ reason: 'upload_ended' });
  });

  test('in the middle of a body with a checksum continues at the acknowledged offset', async () => {
    const body = systemRandom.bytes(800_000);
    const path = await createUpload(stage, owner.key, body.length);
    const upload = await readUpload(stage, owner, path);
    const writer = systemRandom.bytes(16);
    await stage.db.database.transaction(async (tx) => {
      await takeWriter(tx, { id: upload.id, offset: 0, writer, now: new Date() });
      const place = { content: Buffer.alloc(524_288, 9) };
      await addChunk(tx, { upload, writer, start: 0, bytes: 524_288, place, acknowledged: false });
    });
    expect(await readOffset(stage, owner.key, path)).toBe(0);
    expect((await patchUpload(stage, path, { key: owner.key, offset: 0, body })).status).toBe(204);
    expect((await readStored(stage, await readUpload(stage, owner, path))).equals(body)).toBe(true);
    await deleteAt(path);
  });
});

describe('a secret in the bytes', () => {
  const key = Buffer.from(makeMerchantKey(systemRandom, 'aisle'));
  const around = (at: number, secret: Buffer, length = 700_000): Buffer => {
    const body = Buffer.alloc(length, 0xab);
    secret.copy(body, at);
    return body;
  };
  const cases: [string, Buffer, number[]][] = [
    ['in a chunk', around(1_000, key), []],
    ['across two chunks', around(524_288 - 20, key), []],
    ['across two requests', around(100_000 - 30, key), [100_000]],
    ['across three requests', around(100_000 - 30, key), [100_000, 100_005]],
    ['at the very end', around(700_000 - key.length, key), []],
    ['a code in capitals', around(5, Buffer.from(makeRecoveryCode(systemRandom, 'city').toUpperCase())), []],
    ['in base64, in small goods', Buffer.from(key.toString('base64')), []],
  ];
  test.each(cases)('ends the upload: %s', async (_, body, stops) => {
    const path = await createUpload(stage, owner.key, body.length);
    const edges = [0, ...stops, body.length];
    const statuses: number[] = [];
    for (const [at, from] of edges.slice(0, -1).entries()) {
      const part = body.subarray(from, edges[at + 1]);
      const answer = await patchUpload(stage, path, { key: owner.key, offset: from, body: part });
      statuses.push(answer.status);
      if (answer.status !== 204) expect(answer.body['reason']).toBe('secret_in_payload');
    }
    expect(statuses).toEqual([...stops.map(() => 204), 400]);
    expect((await askTus(stage.url, 'HEAD', path, { key: owner.key })).status).toBe(410);
  });

  test('in the name of the file is refused', async () => {
    const metadata = `filename ${Buffer.from(String(key)).toString('base64')}`;
    const answer = await askTus(stage.url, 'POST', '/api/upload', {
      ...{ key: owner.key, headers: { 'upload-length': '5', 'upload-metadata': metadata } },
    });
    expect([answer.status, answer.body['reason']]).toEqual([400, 'secret_in_payload']);
  });
});
