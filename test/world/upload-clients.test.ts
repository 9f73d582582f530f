import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type DetailedError, Upload as TusUpload, type UploadOptions } from 'tus-js-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemRandom } from '../../src/platform/random.ts';
import { startCuttingProxy } from '../support/cutting-proxy.ts';
import { createDice } from '../support/dice.ts';
import type { Member } from '../support/market-world.ts';
import {
  askTus,
  checksumOf,
  faultsOf,
  readStored,
  readUpload,
  sha256Of,
  startUploadStage,
  type UploadStage,
} from '../support/upload-stage.ts';

const run = promisify(execFile);
const seed = Number(process.env['OPENAISLE_SEED'] ?? systemRandom.int(1_000_000_000));
process.stdout.write(`upload clients: OPENAISLE_SEED=${seed}\n`);

let stage: UploadStage;
let owner: Member;
let folder: string;

beforeAll(async () => {
  stage = await startUploadStage();
  owner = await stage.join('owner');
  folder = await mkdtemp(join(tmpdir(), 'openaisle-upload-'));
});

afterAll(async () => {
  expect(faultsOf(stage)).toEqual([]);
  await rm(folder, { recursive: true });
  await stage.stop();
});

/** Repeats what a broken connection, a busy market or another request stopped, as docs/uploads.md says. */
function mayRetry(error: DetailedError): boolean {
  const status = error.originalResponse?.getStatus() ?? 0;
  return status < 400 || status >= 500 || [408, 409, 429, 460].includes(status);
}

/** Uploads with the stock client. Resolves with the path of the upload. */
function uploadByClient(body: Buffer, options: Partial<UploadOptions>): Promise<string> {
  return new Promise((resolve, reject) => {
    const upload = new TusUpload(body, {
      endpoint: `${stage.url}/api/upload`,
      headers: { Authorization: `Bearer ${owner.key}` },
      metadata: { filename: 'pack.zip', filetype: 'application/zip' },
      retryDelays: Array.from({ length: 200 }, () => 1),
      onShouldRetry: mayRetry,
      onError: reject,
      onSuccess: () => resolve(new URL(upload.url ?? '').pathname),
      ...options,
    });
    upload.start();
  });
}

async function expectWhole(path: string, body: Buffer): Promise<void> {
  const upload = await readUpload(stage, owner, path);
  expect([upload.filename, upload.mediaType]).toEqual(['pack.zip', 'application/zip']);
  expect([upload.received, upload.sha256?.toString('hex')]).toEqual([body.length, sha256Of(body)]);
  expect((await readStored(stage, upload)).equals(body)).toBe(true);
  expect((await askTus(stage.url, 'DELETE', path, { key: owner.key })).status).toBe(204);
}

test('tus-js-client uploads in one request, in parts, and together with the creation', async () => {
  const body = systemRandom.bytes(2_345_678);
  await expectWhole(await uploadByClient(body, {}), body);
  await expectWhole(await uploadByClient(body, { chunkSize: 800_000 }), body);
  await expectWhole(await uploadByClient(body, { uploadDataDuringCreation: true, chunkSize: 1_000_000 }), body);
  await expectWhole(await uploadByClient(body, { overridePatchMethod: true }), body);
});

test('tus-js-client gets through a connection that is cut again and again', { timeout: 60_000 }, async () => {
  const dice = createDice(seed);
  let left = 25;
  const proxy = await startCuttingProxy(stage.port, () => {
    left -= 1;
    return left >= 0 ? 200 + dice.number(400_000) : null;
  });
  try {
    const body = systemRandom.bytes(5_000_000);
    // The market names its own address, so the client is told to keep to the proxy's.
    const created = await askTus(stage.url, 'POST', '/api/upload', {
      ...{ key: owner.key },
      headers: {
        'upload-length': String(body.length),
        'upload-metadata': `filename ${btoa('pack.zip')},filetype ${btoa('application/zip')}`,
      },
    });
    const { pathname } = new URL(created.headers.get('location') ?? '');
    const uploadUrl = `${proxy.url}${pathname}`;
    const path = await uploadByClient(body, { endpoint: `${proxy.url}/api/upload`, uploadUrl });
    expect(proxy.cuts()).toBeGreaterThan(5);
    await expectWhole(path, body);
  } finally {
    await proxy.close();
  }
});

test('tus-js-client deletes what it began', async () => {
  const body = systemRandom.bytes(100_000);
  const path = await uploadByClient(body, {});
  await TusUpload.terminate(`${stage.url}${path}`, { headers: { Authorization: `Bearer ${owner.key}` } });
  expect((await askTus(stage.url, 'HEAD', path, { key: owner.key })).status).toBe(410);
});

/** Runs curl, which must be installed, and returns status and headers of the answer. */
async function curl(...args: string[]): Promise<{ status: number; headers: Headers; body: string }> {
  const headFile = join(folder, 'head');
  const asked = ['-sS', '--max-time', '20', '-D', headFile, '-w', '%{http_code}', '-o', join(folder, 'body'), ...args];
  const by = ['-H', 'Tus-Resumable: 1.0.0', '-H', `Authorization: Bearer ${owner.key}`];
  const { stdout } = await run('curl', [...asked, ...by]).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new Error('curl is not installed, and this test needs it');
    throw error;
  });
  const lines = (await readFile(headFile, 'latin1')).split('\r\n').slice(1);
  const headers = new Headers();
  for (const line of lines) {
    const [, name, value] = /^([^:]+): (.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) headers.set(name, value);
  }
  return { status: Number(stdout), headers, body: await readFile(join(folder, 'body'), 'utf8').catch(() => '') };
}

test('curl creates, sends, asks, continues and deletes', async () => {
  const body = systemRandom.bytes(1_700_000);
  const whole = join(folder, 'pack.zip');
  const rest = join(folder, 'rest');
  const base = `${stage.url}/api/upload`;
  const type = ['-H', 'Content-Type: application/offset+octet-stream'];
  await writeFile(whole, body);
  const metadata = `Upload-Metadata: filename ${btoa('pack.zip')},filetype ${btoa('application/zip')}`;
  const created = await curl('-X', 'POST', base, '-H', `Upload-Length: ${body.length}`, '-H', metadata);
  expect(created.status).toBe(201);
  const location = created.headers.get('location') ?? '';
  // Ends after a part of the file, as a lost connection would.
  await writeFile(rest, body.subarray(0, 900_000));
  const first = await curl('-X', 'PATCH', location, ...type, '-H', 'Upload-Offset: 0', '-T', rest);
  expect([first.status, first.headers.get('upload-offset')]).toEqual([204, '900000']);
  const head = await curl('-I', location);
  expect([head.status, head.headers.get('upload-offset')]).toEqual([200, '900000']);
  await writeFile(rest, body.subarray(900_000));
  const sum = `Upload-Checksum: ${checksumOf(body.subarray(900_000))}`;
  const wrong = await curl(
    '-X',
    'PATCH',
    location,
    ...type,
    '-H',
    'Upload-Offset: 900000',
    '-H',
    `Upload-Checksum: ${checksumOf(body)}`,
    '-T',
    rest,
  );
  expect([wrong.status, JSON.parse(wrong.body).reason]).toEqual([460, 'checksum_mismatch']);
  const last = await curl('-X', 'PATCH', location, ...type, '-H', 'Upload-Offset: 900000', '-H', sum, '-T', rest);
  expect([last.status, last.headers.get('upload-offset')]).toEqual([204, '1700000']);
  await expectWhole(new URL(location).pathname, body);

  const atOnce = await curl(
    base,
    ...type,
    '-H',
    `Upload-Length: ${body.length}`,
    '-H',
    metadata,
    '--data-binary',
    `@${whole}`,
  );
  expect(atOnce.status).toBe(201);
  const path = new URL(atOnce.headers.get('location') ?? '').pathname;
  await expectWhole(path, body);

  const inChunks = await curl(
    '-X',
    'POST',
    base,
    ...type,
    '-H',
    `Upload-Length: ${body.length}`,
    '-H',
    metadata,
    '-H',
    'Transfer-Encoding: chunked',
    '-T',
    whole,
  );
  expect(inChunks.status).toBe(201);
  const chunked = new URL(inChunks.headers.get('location') ?? '').pathname;
  expect((await readUpload(stage, owner, chunked)).sha256?.toString('hex')).toBe(sha256Of(body));
  expect((await curl('-X', 'DELETE', `${stage.url}${chunked}`)).status).toBe(204);
});

const ROOT = resolve(import.meta.dirname, '../..');

/** Returns the first code block of that language in docs/uploads.md, with this market's address and the file to upload. */
async function readExample(language: 'js' | 'sh', file: string): Promise<string> {
  const guide = await readFile(join(ROOT, 'docs/uploads.md'), 'utf8');
  const [, block] = new RegExp(`\\n\`\`\`${language}\\n([\\s\\S]*?)\\n\`\`\`\\n`).exec(guide) ?? [];
  if (block === undefined) throw new Error(`docs/uploads.md has no example in ${language}`);
  return block
    .replaceAll('https://market.example', stage.url)
    .replaceAll(/(file=|(?:Stream|Sync)\(')pack\.zip/g, `$1${file}`);
}

test('the examples of docs/uploads.md upload a file', { timeout: 60_000 }, async () => {
  const body = systemRandom.bytes(1_234_567);
  const file = join(folder, 'pack.zip');
  await writeFile(file, body);
  const env = { ...process.env, OPENAISLE_KEY: owner.key };
  const byClient = await run(process.execPath, ['--input-type=module', '-e', await readExample('js', file)], {
    cwd: ROOT,
    env,
  });
  expect(byClient.stderr).toBe('');
  await expectWhole(`/api/upload/${byClient.stdout.trim()}`, body);
  const script = `set -e\n${await readExample('sh', file)}\necho "$url"`;
  const byCurl = await run('bash', ['-c', script], { env });
  const path = new URL(byCurl.stdout.trim()).pathname;
  const upload = await readUpload(stage, owner, path);
  expect([upload.sha256?.toString('hex'), upload.mediaType]).toEqual([sha256Of(body), 'application/zip']);
  expect((await askTus(stage.url, 'DELETE', path, { key: owner.key })).status).toBe(204);
});
