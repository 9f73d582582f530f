import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../src/platform/clock.ts';
import { findSignatureFault } from './s3-signature.ts';

export const S3_TEST_KEY = 'TESTKEYID';
export const S3_TEST_SECRET = 'test/Secret+of=the.bucket';
export const S3_TEST_BUCKET = 'goods-of-the-test';

/** Acts instead of the server. Returns false to let the server answer. */
export type S3Fault = (request: IncomingMessage, answer: ServerResponse, body: Buffer) => boolean;

export interface S3Server {
  url: string;
  /** Bytes by name. Tests may change or delete them. */
  objects: Map<string, StoredObject>;
  /** Methods and statuses of the requests that were answered, such as `PUT 200`. */
  answered: string[];
  /** Largest number of requests that were open at once. */
  mostOpen(): number;
  fault: S3Fault | null;
  /** Sent with every PUT's answer, as a bucket with versions does. */
  versionId: string | null;
  close(): Promise<void>;
}

interface StoredObject {
  bytes: Buffer;
  meta: Readonly<Record<string, string>>;
}

interface Reply {
  status: number;
  code?: string;
  headers?: Record<string, string>;
  body?: Buffer;
}

const STATUS_OF: Readonly<Record<string, number>> = {
  AuthorizationHeaderMalformed: 400,
  XAmzContentSHA256Mismatch: 400,
};

/** Starts a small S3 server that is stricter than real ones: it checks each signature, header and body, and knows only what the market needs. */
export async function startS3Server({ region = 'us-east-1' } = {}): Promise<S3Server> {
  const access = { region, secrets: { [S3_TEST_KEY]: S3_TEST_SECRET }, now: () => systemClock.now() };
  let open = 0;
  let mostOpen = 0;
  const server = createServer((request, answer) => {
    open += 1;
    mostOpen = Math.max(mostOpen, open);
    answer.once('close', () => {
      open -= 1;
    });
    void readBody(request).then(
      (body) => {
        if (own.fault?.(request, answer, body)) return;
        const reply = judge(request, body) ?? act(request, body, own);
        own.answered.push(`${request.method} ${reply.status}`);
        sendReply(answer, reply);
      },
      () => answer.destroy(),
    );
  });
  const judge = (request: IncomingMessage, body: Buffer): Reply | null => {
    const code = findSignatureFault(request, body, access);
    return code === null ? null : { status: STATUS_OF[code] ?? 403, code };
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own: S3Server = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects: new Map(),
    answered: [],
    mostOpen: () => mostOpen,
    fault: null,
    versionId: null,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return own;
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Sends an error as S3 does, or a body. */
export function sendReply(answer: ServerResponse, { status, code, headers, body }: Reply): void {
  const xml = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>A test.</Message></Error>`;
  const bytes = body ?? Buffer.from(code === undefined ? '' : xml);
  answer.writeHead(status, { ...headers, 'content-length': bytes.length }).end(bytes);
}

function act(request: IncomingMessage, body: Buffer, server: S3Server): Reply {
  const [, bucket, name] = /^\/([^/?]+)\/([^?]+)$/.exec(request.url ?? '') ?? [];
  if (bucket !== S3_TEST_BUCKET) return { status: 404, code: 'NoSuchBucket' };
  // Names are random, used once, and nobody else's.
  if (name === undefined || !/^goods\/[0-9a-z-]{32,64}$/.test(name)) return { status: 403, code: 'AccessDenied' };
  if (request.method === 'PUT') return putObject(request, { name, body }, server);
  if (request.method === 'DELETE') {
    server.objects.delete(name);
    return { status: 204 };
  }
  if (request.method === 'GET') return getObject(request, server.objects.get(name));
  return { status: 405, code: 'MethodNotAllowed' };
}

function putObject(request: IncomingMessage, { name, body }: { name: string; body: Buffer }, server: S3Server): Reply {
  if (request.headers['content-length'] === undefined) return { status: 411, code: 'MissingContentLength' };
  const before = server.objects.get(name);
  if (before !== undefined && !before.bytes.equals(body)) return { status: 409, code: 'NameUsedTwice' };
  const meta = Object.entries(request.headers).filter(([header]) => header.startsWith('x-amz-meta-'));
  server.objects.set(name, { bytes: body, meta: Object.fromEntries(meta) as Record<string, string> });
  const version = server.versionId === null ? {} : { 'x-amz-version-id': server.versionId };
  return { status: 200, headers: { etag: `"${createHash('md5').update(body).digest('hex')}"`, ...version } };
}

function getObject(request: IncomingMessage, object: StoredObject | undefined): Reply {
  if (object === undefined) return { status: 404, code: 'NoSuchKey' };
  const { bytes, meta } = object;
  const [, from, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
  if (from === undefined || last === undefined) return { status: 200, headers: meta, body: bytes };
  if (Number(from) >= bytes.length) return { status: 416, code: 'InvalidRange' };
  const body = bytes.subarray(Number(from), Number(last) + 1);
  const range = `bytes ${from}-${Number(from) + body.length - 1}/${bytes.length}`;
  return { status: 206, headers: { ...meta, 'content-range': range }, body };
}
