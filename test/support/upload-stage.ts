import { createHash } from 'node:crypto';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Limits } from '../../src/contract/vocabulary.ts';
import type { MarketConfig } from '../../src/market/context.ts';
import { createMarket, type RunningMarket } from '../../src/market/create-market.ts';
import { readObject } from '../../src/market/goods/chunk-store.ts';
import { findUpload, type Upload } from '../../src/market/goods/uploads/store.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import type { ObjectStore } from '../../src/platform/object-store.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { freePort } from './free-port.ts';
import { askMarket, joinMarket, type Member, TEST_PEPPER, worldConfig } from './market-world.ts';
import { type LogLine, recordingLog } from './recording-log.ts';

export const PATCH_TYPE = 'application/offset+octet-stream';

export interface UploadStageOptions {
  limits?: Partial<Limits>;
  clock?: Clock;
  config?: Partial<MarketConfig>;
  objectStore?: ObjectStore;
  /** Replaces the market's database URL, for example with that of a proxy. */
  databaseUrl?: (db: TestDatabase) => Promise<string>;
}

export interface UploadStage {
  running: RunningMarket;
  db: TestDatabase;
  url: string;
  port: number;
  logLines: LogLine[];
  join(handle: string): Promise<Member>;
  stop(): Promise<void>;
}

/** Starts a market that serves uploads and reads. It has no chain, because an upload needs none. */
export async function startUploadStage(options: UploadStageOptions = {}): Promise<UploadStage> {
  const db = await createTestDatabase();
  const databaseUrl = (await options.databaseUrl?.(db)) ?? db.url;
  const database = await openDatabase({ url: databaseUrl, allowUnsafe: true });
  const port = await freePort();
  const { log, lines } = recordingLog();
  const nowhere = { rpcUrl: 'http://127.0.0.1:1', facilitatorUrl: 'http://127.0.0.1:1' };
  const config = worldConfig({ databaseUrl, port, ...nowhere, ...(options.limits ? { limits: options.limits } : {}) });
  const running = createMarket({
    config: { ...config, ...options.config },
    ...{ database, clock: options.clock ?? systemClock, random: systemRandom, log, pepper: TEST_PEPPER },
    objectStore: options.objectStore ?? null,
  });
  const { url } = await running.http.listen({ host: '127.0.0.1', port });
  return {
    ...{ running, db, url, port, logLines: lines },
    join: (handle) => joinMarket(db, handle),
    stop: async () => {
      await running.stop({ drainMs: 5_000 });
      await database.close();
      await db.drop();
    },
  };
}

export interface TusAnswer {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

export interface TusRequest {
  key?: string;
  headers?: Record<string, string>;
  body?: Uint8Array;
}

/** Sends a request of tus as a client does. `body` is the bytes of a PATCH, or of a creation with upload. */
export async function askTus(url: string, method: string, path: string, asked: TusRequest = {}): Promise<TusAnswer> {
  const response = await fetch(new URL(path, url), {
    method,
    headers: {
      'tus-resumable': '1.0.0',
      ...(asked.key === undefined ? {} : { authorization: `Bearer ${asked.key}` }),
      ...(asked.body === undefined ? {} : { 'content-type': PATCH_TYPE }),
      ...asked.headers,
    },
    body: asked.body === undefined ? null : Buffer.from(asked.body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) };
}

/** Creates an upload and returns its path. */
export async function createUpload(stage: Pick<UploadStage, 'url'>, key: string, bytes: number): Promise<string> {
  const answer = await askTus(stage.url, 'POST', '/api/upload', { key, headers: { 'upload-length': String(bytes) } });
  if (answer.status !== 201) throw new Error(`the upload was not created: ${JSON.stringify(answer.body)}`);
  return new URL(answer.headers.get('location') ?? '').pathname;
}

export function patchUpload(
  stage: Pick<UploadStage, 'url'>,
  path: string,
  asked: { key: string; offset: number; body: Uint8Array; headers?: Record<string, string> },
): Promise<TusAnswer> {
  const { key, offset, body, headers } = asked;
  return askTus(stage.url, 'PATCH', path, { key, body, headers: { 'upload-offset': String(offset), ...headers } });
}

export async function readOffset(stage: Pick<UploadStage, 'url'>, key: string, path: string): Promise<number> {
  const { status, headers } = await askTus(stage.url, 'HEAD', path, { key });
  if (status !== 200) throw new Error(`HEAD on the upload answered ${status}`);
  return Number(headers.get('upload-offset'));
}

export interface OpenPatch {
  write(bytes: Uint8Array): Promise<void>;
  end(): void;
  /** Cuts the connection without a last word. */
  cut(): void;
  /** Resolves with the answer. Rejects if the connection ended without one. */
  answer: Promise<{ status: number; headers: IncomingMessage['headers']; reason: string }>;
}

/** Begins a PATCH, or another request, whose body the test writes. */
export function openPatch(
  stage: Pick<UploadStage, 'url'>,
  path: string,
  asked: { key: string; offset: number; bytes: number | null; headers?: Record<string, string>; method?: 'POST' },
): OpenPatch {
  const { key, offset, bytes, headers = {}, method = 'PATCH' } = asked;
  const request = httpRequest(new URL(path, stage.url), {
    method,
    headers: {
      ...{ 'tus-resumable': '1.0.0', authorization: `Bearer ${key}`, 'content-type': PATCH_TYPE },
      ...{ 'upload-offset': String(offset), ...(bytes === null ? {} : { 'content-length': String(bytes) }) },
      ...headers,
    },
  });
  const answer = new Promise<Awaited<OpenPatch['answer']>>((resolve, reject) => {
    request.on('error', reject);
    request.on('response', async (response) => {
      let text = '';
      for await (const piece of response) text += String(piece);
      const reason = text === '' ? 'none' : String(JSON.parse(text).reason);
      resolve({ status: response.statusCode ?? 0, headers: response.headers, reason });
    });
  });
  answer.catch(() => undefined);
  return {
    write: (bytes) => new Promise((resolve) => void request.write(bytes, () => resolve())),
    end: () => void request.end(),
    cut: () => void request.destroy(),
    answer,
  };
}

/** Reads an upload's row. */
export async function readUpload({ db }: Pick<UploadStage, 'db'>, owner: Member, path: string): Promise<Upload> {
  const upload = await findUpload(db.database, owner.id, path.slice(path.lastIndexOf('/') + 1));
  if (upload === null) throw new Error(`no upload at ${path}`);
  return upload;
}

/** Reads the stored bytes of an upload. */
export async function readStored({ running }: Pick<UploadStage, 'running'>, upload: Upload): Promise<Buffer> {
  const pieces: Buffer[] = [];
  if (upload.objectId !== null) {
    const whole = { from: 0, to: upload.received };
    for await (const piece of readObject(running.market, upload.objectId, whole)) pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export function checksumOf(bytes: Uint8Array): string {
  return `sha256 ${createHash('sha256').update(bytes).digest('base64')}`;
}

/** Lists the caller's uploads as GET /api/upload does. */
export async function listOwnUploads(stage: Pick<UploadStage, 'url'>, key: string): Promise<Record<string, unknown>[]> {
  const { body } = await askMarket(stage.url, 'GET', '/api/upload', { key });
  return body['uploads'] as Record<string, unknown>[];
}

/** Events of log lines that tell of a fault. */
export function faultsOf({ logLines }: Pick<UploadStage, 'logLines'>): string[] {
  return logLines
    .filter(({ level }) => level === 'error')
    .map(({ event, fields }) => `${event} ${String(fields['error'])}`);
}
