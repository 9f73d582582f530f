import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemRandom } from '../../src/platform/random.ts';
import type { Member } from '../support/market-world.ts';
import {
  askTus,
  checksumOf,
  createUpload,
  faultsOf,
  listOwnUploads,
  patchUpload,
  readOffset,
  readStored,
  readUpload,
  sha256Of,
  startUploadStage,
  type UploadStage,
} from '../support/upload-stage.ts';

let stage: UploadStage;
let owner: Member;
let stranger: Member;
const bytes = systemRandom.bytes(1_300_000);

beforeAll(async () => {
  stage = await startUploadStage();
  owner = await stage.join('owner');
  stranger = await stage.join('stranger');
});

afterAll(async () => {
  expect(faultsOf(stage)).toEqual([]);
  await stage.stop();
});

const inBase64 = (text: string): string => Buffer.from(text).toString('base64');
const create = (headers: Record<string, string>, key = owner.key) =>
  askTus(stage.url, 'POST', '/api/upload', { key, headers });

describe('an upload', () => {
  test('is created, continued, described and deleted as tus 1.0.0 says', async () => {
    const metadata = `filename ${inBase64('model.bin')},filetype ${inBase64('application/octet-stream')},other ${inBase64('x')}`;
    const created = await create({ 'upload-length': String(bytes.length), 'upload-metadata': metadata });
    expect([created.status, created.headers.get('tus-resumable'), created.headers.get('upload-offset')]).toEqual([
      201,
      '1.0.0',
      '0',
    ]);
    const location = created.headers.get('location') ?? '';
    expect(location).toMatch(new RegExp(`^${stage.url}/api/upload/[0-9A-Za-z]{22}$`));
    const path = new URL(location).pathname;

    const first = await patchUpload(stage, path, { key: owner.key, offset: 0, body: bytes.subarray(0, 600_000) });
    expect([first.status, first.headers.get('upload-offset'), first.headers.get('tus-resumable')]).toEqual([
      204,
      '600000',
      '1.0.0',
    ]);
    const head = await askTus(stage.url, 'HEAD', path, { key: owner.key });
    expect(head.status).toBe(200);
    expect(Object.fromEntries(head.headers)).toMatchObject({
      'cache-control': 'no-store',
      'upload-offset': '600000',
      'upload-length': '1300000',
      'upload-metadata': metadata.slice(0, metadata.indexOf(',other')),
      'tus-resumable': '1.0.0',
    });
    const expires = Date.parse(head.headers.get('upload-expires') ?? '');
    expect(expires - Date.now()).toBeGreaterThan(23.9 * 3_600_000);
    expect(expires - Date.now()).toBeLessThanOrEqual(24 * 3_600_000);

    const last = await patchUpload(stage, path, { key: owner.key, offset: 600_000, body: bytes.subarray(600_000) });
    expect([last.status, last.headers.get('upload-offset')]).toEqual([204, '1300000']);
    expect(await readOffset(stage, owner.key, path)).toBe(bytes.length);
    const upload = await readUpload(stage, owner, path);
    expect((await readStored(stage, upload)).equals(bytes)).toBe(true);
    expect(await listOwnUploads(stage, owner.key)).toMatchObject([
      {
        state: 'complete',
        bytes: 1_300_000,
        sha256: `0x${sha256Of(bytes)}`,
        filename: 'model.bin',
        media_type: 'application/octet-stream',
      },
    ]);

    expect((await askTus(stage.url, 'DELETE', path, { key: owner.key })).status).toBe(204);
    const gone = await patchUpload(stage, path, { key: owner.key, offset: 0, body: bytes.subarray(0, 1) });
    expect([gone.status, gone.body['reason']]).toEqual([410, 'upload_ended']);
    expect((await askTus(stage.url, 'HEAD', path, { key: owner.key })).status).toBe(410);
    expect((await askTus(stage.url, 'DELETE', path, { key: owner.key })).status).toBe(410);
  });

  test('is created and filled by one request, and hashed as the bytes pass', async () => {
    const created = await askTus(stage.url, 'POST', '/api/upload', {
      ...{ key: owner.key, body: bytes },
      headers: { 'upload-length': String(bytes.length), 'upload-checksum': checksumOf(bytes) },
    });
    expect([created.status, created.headers.get('upload-offset')]).toEqual([201, '1300000']);
    const path = new URL(created.headers.get('location') ?? '').pathname;
    const upload = await readUpload(stage, owner, path);
    expect(upload.sha256?.toString('hex')).toBe(sha256Of(bytes));
    // An upload that misses no bytes is left as it is.
    const empty = await patchUpload(stage, path, { key: owner.key, offset: bytes.length, body: Buffer.alloc(0) });
    expect([empty.status, empty.headers.get('upload-offset')]).toEqual([204, '1300000']);
    await askTus(stage.url, 'DELETE', path, { key: owner.key });
  });

  test('keeps none of a body whose checksum is wrong, and takes the same bytes afterwards', async () => {
    const path = await createUpload(stage, owner.key, bytes.length);
    const part = bytes.subarray(0, 700_000);
    const wrong = { 'upload-checksum': checksumOf(bytes) };
    const answer = await patchUpload(stage, path, { key: owner.key, offset: 0, body: part, headers: wrong });
    expect([answer.status, answer.body['reason']]).toEqual([460, 'checksum_mismatch']);
    expect(await readOffset(stage, owner.key, path)).toBe(0);
    const right = { 'upload-checksum': checksumOf(part) };
    expect((await patchUpload(stage, path, { key: owner.key, offset: 0, body: part, headers: right })).status).toBe(
      204,
    );
    const rest = bytes.subarray(700_000);
    const last = { 'upload-checksum': checksumOf(rest) };
    expect(
      (await patchUpload(stage, path, { key: owner.key, offset: 700_000, body: rest, headers: last })).status,
    ).toBe(204);
    const upload = await readUpload(stage, owner, path);
    expect([upload.sha256?.toString('hex'), (await readStored(stage, upload)).equals(bytes)]).toEqual([
      sha256Of(bytes),
      true,
    ]);
    await askTus(stage.url, 'DELETE', path, { key: owner.key });
  });

  test('belongs to its merchant alone', async () => {
    const path = await createUpload(stage, owner.key, 10);
    const by = { key: stranger.key, offset: 0, body: Buffer.alloc(10) };
    expect((await askTus(stage.url, 'HEAD', path, { key: stranger.key })).status).toBe(404);
    for (const answer of [
      await patchUpload(stage, path, by),
      await askTus(stage.url, 'DELETE', path, { key: stranger.key }),
    ])
      expect([answer.status, answer.body['reason']]).toEqual([404, 'upload_not_found']);
    expect(await readOffset(stage, owner.key, path)).toBe(0);
    await askTus(stage.url, 'DELETE', path, { key: owner.key });
  });

  test('is continued by clients that can only POST', async () => {
    const path = await createUpload(stage, owner.key, 5);
    const post = (method: string, headers = {}, body?: Buffer) =>
      askTus(stage.url, 'POST', path, {
        ...{ key: owner.key, headers: { 'x-http-method-override': method, ...headers } },
        ...(body === undefined ? {} : { body }),
      });
    expect((await post('PATCH', { 'upload-offset': '0' }, Buffer.from('hello'))).status).toBe(204);
    expect((await readUpload(stage, owner, path)).sha256?.toString('hex')).toBe(sha256Of(Buffer.from('hello')));
    expect((await post('PUT')).status).toBe(405);
    expect((await post('DELETE')).status).toBe(204);
  });
});

describe('what is not tus', () => {
  const refused: [string, number, string, Record<string, string>][] = [
    ['another version', 412, 'tus_version', { 'tus-resumable': '0.2.2', 'upload-length': '5' }],
    ['no size', 400, 'upload_refused', {}],
    ['a size of no bytes', 400, 'upload_refused', { 'upload-length': '0' }],
    ['a size that is no number', 400, 'upload_refused', { 'upload-length': '5e3' }],
    ['a size that comes later', 400, 'upload_refused', { 'upload-defer-length': '1' }],
    ['parts to be joined', 400, 'upload_refused', { 'upload-length': '5', 'upload-concat': 'partial' }],
    ['more than the market takes', 413, 'upload_too_large', { 'upload-length': '67108865' }],
  ];
  test.each(refused)('is refused: %s', async (_, status, reason, headers) => {
    const answer = await create(headers);
    expect([answer.status, answer.body['reason']]).toEqual([status, reason]);
    expect(answer.headers.get('tus-resumable')).toBe('1.0.0');
    if (status === 412) expect(answer.headers.get('tus-version')).toBe('1.0.0');
    expect(answer.body['next_step']).toEqual(expect.any(String));
  });

  test('is refused in a PATCH, before a byte is stored', async () => {
    const path = await createUpload(stage, owner.key, 10);
    const patch = (offset: number | null, body: Buffer, headers: Record<string, string> = {}) =>
      askTus(stage.url, 'PATCH', path, {
        ...{ key: owner.key, body },
        headers: { ...(offset === null ? {} : { 'upload-offset': String(offset) }), ...headers },
      });
    const large = Buffer.alloc(2_000_000);
    const answers = [
      await patch(0, large, { 'content-type': 'application/octet-stream' }),
      await patch(0, Buffer.alloc(10), { 'content-encoding': 'gzip' }),
      await patch(null, Buffer.alloc(10)),
      await patch(4, Buffer.alloc(6)),
      await patch(0, Buffer.alloc(11)),
      await patch(0, Buffer.alloc(10), { 'upload-checksum': 'md5 rL0Y20zC+Fzt72VPzMSk2A==' }),
      await patch(0, Buffer.alloc(10), { 'upload-checksum': 'sha256 short' }),
      await patch(0, Buffer.alloc(10), { 'tus-resumable': '' }),
    ];
    expect(answers.map(({ status, body }) => [status, body['reason']])).toEqual([
      [415, 'unsupported_media_type'],
      [415, 'unsupported_media_type'],
      [400, 'upload_refused'],
      [409, 'upload_offset'],
      [400, 'upload_refused'],
      [400, 'upload_refused'],
      [400, 'upload_refused'],
      [412, 'tus_version'],
    ]);
    expect(answers[3]?.headers.get('upload-offset')).toBe('0');
    expect(await readOffset(stage, owner.key, path)).toBe(0);
    await askTus(stage.url, 'DELETE', path, { key: owner.key });
  });

  test('is a type that other routes refuse and drain', async () => {
    const body = Buffer.alloc(30_000);
    for (const path of ['/api/listing', '/api/register']) {
      const answer = await askTus(stage.url, 'POST', path, { key: owner.key, body });
      expect([path, answer.status, answer.body['reason']]).toEqual([path, 415, 'unsupported_media_type']);
    }
    expect((await askTus(stage.url, 'POST', '/nowhere', { body })).status).toBe(404);
    expect((await askTus(stage.url, 'PUT', '/api/upload', { body })).status).toBe(405);
  });

  test('is an address that no upload has', async () => {
    for (const id of ['x', '0'.repeat(22), `${'0'.repeat(21)}-`]) {
      const answer = await patchUpload(stage, `/api/upload/${id}`, {
        key: owner.key,
        offset: 0,
        body: Buffer.alloc(1),
      });
      expect([answer.status, answer.body['reason']]).toEqual([404, 'upload_not_found']);
    }
  });
});

describe('the caller', () => {
  test('must show its key, as everywhere', async () => {
    const wrong = `aisle_sk_${'0'.repeat(49)}`;
    const headers = { 'upload-length': '5' };
    const none = await askTus(stage.url, 'POST', '/api/upload', { headers });
    expect([none.status, none.body['reason'], none.headers.get('tus-resumable')]).toEqual([
      401,
      'key_required',
      '1.0.0',
    ]);
    const invalid = await askTus(stage.url, 'POST', '/api/upload', { headers, key: wrong });
    expect([invalid.status, invalid.body['reason']]).toEqual([401, 'key_invalid']);
    const large = await askTus(stage.url, 'POST', '/api/upload', {
      headers: { 'upload-length': '3000000' },
      body: Buffer.alloc(3_000_000),
    });
    expect([large.status, large.body['reason']]).toEqual([401, 'key_required']);
  });

  test('is noted in the access log, with the bytes that arrived', async () => {
    const path = await createUpload(stage, owner.key, 10);
    await patchUpload(stage, path, { key: owner.key, offset: 0, body: Buffer.alloc(10) });
    const isPatch = (fields: Readonly<Record<string, unknown>>): boolean =>
      fields['method'] === 'PATCH' && fields['status'] === 204 && fields['upload_bytes'] === 10;
    const find = () => stage.logLines.find(({ event, fields }) => event === 'request' && isPatch(fields));
    await expect.poll(find).toBeDefined();
    expect(find()?.fields).toMatchObject({ merchant_id: owner.id, route: '/api/upload/:id' });
    await askTus(stage.url, 'DELETE', path, { key: owner.key });
  });
});

describe('OPTIONS', () => {
  test('says what the server can do', async () => {
    for (const path of ['/api/upload', '/api/upload/anything']) {
      const response = await fetch(`${stage.url}${path}`, { method: 'OPTIONS' });
      expect(response.status).toBe(204);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'tus-resumable': '1.0.0',
        'tus-version': '1.0.0',
        'tus-extension': 'creation,creation-with-upload,checksum,expiration,termination',
        'tus-max-size': '67108864',
        'tus-checksum-algorithm': 'sha256',
      });
    }
  });

  test('lets the scripts of any page upload with their own key', async () => {
    const headers = { origin: 'https://shop.example', 'access-control-request-method': 'PATCH' };
    const preflight = await fetch(`${stage.url}/api/upload/x`, { method: 'OPTIONS', headers });
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(preflight.headers.get('access-control-allow-methods')?.split(', ')).toEqual(
      expect.arrayContaining(['PATCH', 'HEAD', 'DELETE']),
    );
    const accepted = preflight.headers.get('access-control-allow-headers')?.split(', ');
    expect(accepted).toEqual(
      expect.arrayContaining([
        'authorization',
        'tus-resumable',
        'upload-length',
        'upload-offset',
        'upload-metadata',
        'upload-checksum',
        'content-type',
      ]),
    );
    const answer = await create({ 'upload-length': '5', origin: 'https://shop.example' });
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('access-control-expose-headers')?.split(', ')).toEqual(
      expect.arrayContaining([
        'location',
        'tus-resumable',
        'upload-offset',
        'upload-length',
        'upload-expires',
        'upload-metadata',
      ]),
    );
    await askTus(stage.url, 'DELETE', new URL(answer.headers.get('location') ?? '').pathname, { key: owner.key });
  });
});
