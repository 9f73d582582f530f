import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  type Fault,
  type FaultyGoodsServer,
  type SeenGoodsRequest,
  startFaultyGoodsServer,
} from '../../../test/support/faulty-goods-server.ts';
import { deliveryAnswer } from '../../../test/support/market-answers.ts';
import { createTestTime } from '../../../test/support/scripted-market.ts';
import { createClient } from '../../sdk/client.ts';
import type { DeliveredGoods } from '../../sdk/goods/download.ts';
import { fileSource } from './file-bytes.ts';
import type { GoodsFile } from './goods-file.ts';
import { saveFile } from './save-file.ts';
import { forgetUpload, sendUploaded, uploadFile } from './upload-file.ts';

const MIB = 1_048_576;
const SALT = Buffer.alloc(32, 7);
const content = Buffer.alloc(3 * MIB + 5, createHash('sha512').update('goods').digest());
const sha256 = `0x${createHash('sha256').update(content).digest('hex')}` as const;
const commitment = `0x${createHash('sha256').update(SALT).update(content).digest('hex')}`;
let root = '';
let folder = '';
let server: FaultyGoodsServer | undefined;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'openaisle-large-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));
beforeEach(async () => {
  folder = await mkdtemp(join(root, 'one-'));
});
afterEach(async () => {
  await server?.[Symbol.asyncDispose]();
  server = undefined;
});

async function connect(faultOf?: (request: SeenGoodsRequest, index: number) => Fault) {
  server = await startFaultyGoodsServer(faultOf);
  server.goods.content = content;
  server.goods.tag = `"${commitment}"`;
  const client = createClient({ baseUrl: server.baseUrl, key: 'aisle_sk_none', environment: createTestTime() });
  return { server, client, goods: goodsAt(server.baseUrl) };
}

function goodsAt(baseUrl: string): DeliveredGoods {
  const reply = deliveryAnswer(7, {
    artifact: null,
    artifact_filename: 'data.bin',
    artifact_salt: `0x${SALT.toString('hex')}`,
    download: {
      ...{ url: `${baseUrl}/api/download/7`, bytes: content.length, media_type: 'application/zip', filename: 'a.zip' },
      ...{ sha256, download_token: null, expires_at: null },
    },
  });
  return { ...(reply as { body: DeliveredGoods }).body, artifact_commitment: commitment };
}

/** Returns options whose signal aborts once that many bytes have gone through. */
function stoppingAt(most: number) {
  const stopping = new AbortController();
  const onBytes = ({ done }: { done: number }) => {
    if (done >= most) stopping.abort();
  };
  return { signal: stopping.signal, onBytes };
}

test('a download that is stopped continues behind its part, and leaves one file of mode 0600', async () => {
  const { client, server, goods } = await connect();
  const stopped = saveFile({ client, ...stoppingAt(MIB) }, goods, { folder });
  await expect(stopped).rejects.toMatchObject({ trouble: 'unknown', parts: { reason: 'goods_under_way' } });
  const [part = ''] = await readdir(folder);
  expect(part).toMatch(/^7-data\.bin\.[0-9a-f]{8}\.part$/);
  const { size } = await stat(join(folder, part));
  expect(size).toBeGreaterThanOrEqual(MIB);
  const { kept, mismatch } = await saveFile({ client }, goods, { folder });
  expect(mismatch).toBeNull();
  expect(server.seen.at(-1)?.headers.range).toBe(`bytes=${size}-`);
  expect(kept).toMatchObject({ path: join(folder, '7-data.bin'), bytes: content.length, commitment });
  expect((await readFile(kept.path)).equals(content)).toBe(true);
  expect((await stat(kept.path)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['7-data.bin']);
  const before = server.seen.length;
  expect((await saveFile({ client }, goods, { folder })).kept.path).toBe(kept.path);
  expect(server.seen.length).toBe(before);
});

test('another file is never replaced: a free name is found in a folder, and an exact name is refused', async () => {
  const { client, server, goods } = await connect();
  const file = join(folder, '7-data.bin');
  await writeFile(file, 'of the user');
  await expect(saveFile({ client }, goods, { file })).rejects.toMatchObject({ parts: { reason: 'file_exists' } });
  expect(server.seen).toEqual([]);
  const { kept } = await saveFile({ client }, goods, { folder });
  expect(kept.path).toBe(join(folder, '2-7-data.bin'));
  expect(await readFile(file, 'utf8')).toBe('of the user');
  const to = join(folder, 'mine.bin');
  expect((await saveFile({ client }, goods, { file: to })).kept.path).toBe(to);
});

test('a part that is wrong is fetched anew, and one that is a link is not written through', async () => {
  const { client, goods } = await connect();
  const part = join(folder, `7-data.bin.${commitment.slice(2, 10)}.part`);
  await writeFile(part, Buffer.alloc(MIB, 1));
  const { kept } = await saveFile({ client }, goods, { folder });
  expect((await readFile(kept.path)).equals(content)).toBe(true);
  await rm(kept.path);
  const victim = join(folder, 'victim');
  await writeFile(victim, 'of the user');
  await symlink(victim, part);
  await saveFile({ client }, goods, { folder });
  expect(await readFile(victim, 'utf8')).toBe('of the user');
});

test('wrong goods are kept as evidence, under their own commitment', async () => {
  const { client, goods } = await connect(() => ({ wrong_byte: true }));
  const { kept, mismatch } = await saveFile({ client }, goods, { folder });
  expect(mismatch?.expected).toBe(commitment);
  expect(kept.commitment).toBe(mismatch?.actual);
  expect((await readFile(kept.path)).equals(content)).toBe(false);
  expect(kept.bytes).toBe(content.length);
});

test('goods that become others midway are no evidence: nothing is kept, and the next call begins anew', async () => {
  const { client, server, goods } = await connect((_, index) => {
    if (index > 0) server.goods.tag = `"0x${'00'.repeat(32)}"`;
    return index === 0 ? { cut_after: MIB } : {};
  });
  const stopped = saveFile({ client }, goods, { folder });
  await expect(stopped).rejects.toMatchObject({ trouble: 'unknown', parts: { reason: 'goods_not_arrived' } });
  expect(await readdir(folder)).toEqual([]);
});

async function goodsFile(): Promise<GoodsFile> {
  const path = join(folder, 'data.bin');
  await writeFile(path, content);
  return { source: fileSource(path, content.length), path, filename: 'data.bin' };
}

test('an upload that is stopped continues in the next process, until its goods are listed', async () => {
  const { client, server } = await connect();
  const file = await goodsFile();
  const stopped = uploadFile({ client, folder, ...stoppingAt(MIB) }, file, { sha256 });
  await expect(stopped).rejects.toMatchObject({ parts: { reason: 'goods_under_way' } });
  const id = await uploadFile({ client, folder }, file, { sha256 });
  expect(server.uploads.size).toBe(1);
  expect(server.uploads.get(id)?.content.equals(content)).toBe(true);
  const sent = server.seen.length;
  expect(await uploadFile({ client, folder }, file, { sha256 })).toBe(id);
  expect(server.seen.slice(sent).map(({ method }) => method)).toEqual(['HEAD', 'GET']);
  await forgetUpload({ client, folder }, sha256);
  expect(await uploadFile({ client, folder }, file, { sha256 })).not.toBe(id);
});

test('goods are uploaded again if the market has lost them, or holds them for another listing', async () => {
  const { client, server } = await connect();
  const file = await goodsFile();
  const tried: string[] = [];
  const listing = await sendUploaded({ client, folder }, file, { sha256 }, async (id) => {
    tried.push(id);
    if (tried.length === 1) await refusedBy('upload_in_use');
    return 'listed';
  });
  expect(listing).toBe('listed');
  expect(tried).toEqual([...server.uploads.keys()]);
  expect(new Set(tried).size).toBe(2);
});

test('goods that change while they are uploaded are refused, and no ID is kept', async () => {
  const { client } = await connect();
  const file = await goodsFile();
  const other = `0x${'00'.repeat(32)}` as const;
  const changed = uploadFile({ client, folder }, file, { sha256: other });
  await expect(changed).rejects.toMatchObject({ trouble: 'refused', parts: { reason: 'goods_changed' } });
  expect(await readdir(join(folder, 'uploads'), { recursive: true })).not.toContain('.json');
});

/** Throws the refusal as the client does. */
async function refusedBy(reason: 'upload_in_use'): Promise<void> {
  await using refusing = await startFaultyGoodsServer(() => ({ refuse: [reason] }));
  await createClient({ baseUrl: refusing.baseUrl, key: 'aisle_sk_none' }).listUploads();
}
