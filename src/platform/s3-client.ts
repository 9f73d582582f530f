import { createHash } from 'node:crypto';
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  Agent as PlainAgent,
  request as requestPlain,
} from 'node:http';
import { request as requestSecure, Agent as SecureAgent } from 'node:https';
import { AwsV4Signer } from 'aws4fetch';
import type { Clock } from './clock.ts';
import { type Random, randomFraction } from './random.ts';

export interface S3Bucket {
  /** Scheme, host and port. */
  endpoint: string;
  bucket: string;
  region: string;
  keyId: string;
  secret: string;
}

export interface S3Timeouts {
  connectMs: number;
  /** One try: a free connection, the request and the whole answer. */
  tryMs: number;
  /** All tries and the pauses between them. */
  wholeMs: number;
}

export const S3_TIMEOUTS: S3Timeouts = { connectMs: 3_000, tryMs: 10_000, wholeMs: 25_000 };

/** Requests at once. Others wait for a connection, within their time limit. */
const MAX_CONNECTIONS = 32;
/** Closes a connection that was idle for this long, because networks drop idle connections silently. */
const IDLE_MS = 15_000;
const MAX_TRIES = 3;
const FIRST_PAUSE_MS = 100;
/** Size of answers other than objects: errors, and what follows a write. */
const MAX_TEXT_BYTES = 65_536;
const EMPTY_SHA256 = createHash('sha256').digest('hex');
const RETRIED_STATUSES = new Set([408, 429, 500, 502, 503, 504]);

export interface S3Request {
  /** Each of these has the same effect if it is repeated, as long as a name always gets the same bytes. */
  method: 'PUT' | 'GET' | 'DELETE';
  name: string;
  headers?: Readonly<Record<string, string>>;
  body?: { bytes: Buffer; sha256: string };
  /** Bytes that a good answer may have. Default: none to speak of. */
  answerBytes?: number;
}

export interface S3Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export type S3Why = 'timeout' | 'unreachable' | 'too_large' | 'status';

/** Thrown if the store gave no good answer. It may have acted on the request all the same. */
export class S3Failure extends Error {
  override readonly name = 'S3Failure';
  readonly why: S3Why;
  readonly status: number | null;
  /** The store's own word, such as NoSuchKey. */
  readonly code: string | null;

  constructor(why: S3Why, { answer, cause }: { answer?: S3Answer; cause?: unknown } = {}) {
    const code = answer === undefined ? null : errorCodeOf(answer);
    const told = answer === undefined ? why : [answer.status, code].filter((part) => part !== null).join(' ');
    super(`the S3 store gave no good answer: ${told}`, cause === undefined ? undefined : { cause });
    this.why = why;
    this.status = answer?.status ?? null;
    this.code = code;
  }
}

export interface S3Client {
  /** Signs and sends a request, and repeats it while the store is silent or busy. Throws S3Failure for every status but 2xx. */
  send(request: S3Request): Promise<S3Answer>;
  /** Closes idle connections, and fails requests that wait for an answer. */
  close(): void;
}

interface S3Parts {
  clock: Clock;
  random: Random;
  timeouts?: S3Timeouts;
}

/** Talks to one bucket in path style, which every S3-compatible server understands. Follows no redirects. */
export function createS3Client(bucket: S3Bucket, { clock, random, timeouts = S3_TIMEOUTS }: S3Parts): S3Client {
  const isSecure = bucket.endpoint.startsWith('https:');
  const pooling = { keepAlive: true, maxSockets: MAX_CONNECTIONS, timeout: IDLE_MS };
  const agent = isSecure ? new SecureAgent(pooling) : new PlainAgent(pooling);
  const signingKeys = new Map<string, ArrayBuffer>();

  const sendOnce = async (request: S3Request, leftMs: number): Promise<S3Answer> => {
    // Sign each try, because a signature is valid for a few minutes only.
    const signed = await signRequest({ bucket, request, atMs: clock.now(), signingKeys });
    return await exchange(
      { ...signed, isSecure, agent, method: request.method, body: request.body?.bytes },
      {
        connectMs: Math.min(timeouts.connectMs, leftMs),
        tryMs: Math.min(timeouts.tryMs, leftMs),
        maxBytes: Math.max(request.answerBytes ?? 0, MAX_TEXT_BYTES),
      },
    );
  };

  return {
    send: async (request) => {
      const endsAt = performance.now() + timeouts.wholeMs;
      for (let tried = 1; ; tried += 1) {
        try {
          const answer = await sendOnce(request, endsAt - performance.now());
          if (answer.status >= 200 && answer.status < 300) return answer;
          throw new S3Failure('status', { answer });
        } catch (error) {
          const pauseMs = FIRST_PAUSE_MS * 4 ** (tried - 1) * (1 + randomFraction(random));
          const isLate = performance.now() + pauseMs >= endsAt;
          if (!isTransient(error) || tried === MAX_TRIES || isLate) throw error;
          await clock.sleep(pauseMs);
        }
      }
    },
    close: () => agent.destroy(),
  };
}

function isTransient(error: unknown): boolean {
  if (!(error instanceof S3Failure)) return false;
  if (error.why !== 'status') return error.why !== 'too_large';
  // A store that waited too long for the request's bytes answers 400 with this code.
  return RETRIED_STATUSES.has(error.status ?? 0) || error.code === 'RequestTimeout';
}

interface Signing {
  bucket: S3Bucket;
  request: S3Request;
  atMs: number;
  signingKeys: Map<string, ArrayBuffer>;
}

async function signRequest(signing: Signing): Promise<{ url: URL; headers: Record<string, string> }> {
  const { bucket, request, atMs, signingKeys } = signing;
  const { method, name, body } = request;
  // A key is derived once a day.
  if (signingKeys.size > 2) signingKeys.clear();
  const signer = new AwsV4Signer({
    method,
    url: `${bucket.endpoint}/${bucket.bucket}/${name}`,
    // The signer leaves the body unsigned unless its hash is given, and the store would then keep bytes that changed on the way.
    headers: { ...request.headers, 'x-amz-content-sha256': body?.sha256 ?? EMPTY_SHA256 },
    accessKeyId: bucket.keyId,
    secretAccessKey: bucket.secret,
    service: 's3',
    region: bucket.region,
    cache: signingKeys,
    datetime: new Date(atMs).toISOString().replace(/[:-]|\.\d{3}/g, ''),
  });
  const { url, headers } = await signer.sign();
  return { url, headers: { ...Object.fromEntries(headers), host: url.host } };
}

interface Exchange {
  url: URL;
  headers: Record<string, string>;
  isSecure: boolean;
  agent: PlainAgent;
  method: string;
  body: Buffer | undefined;
}

interface Bounds {
  connectMs: number;
  tryMs: number;
  maxBytes: number;
}

function exchange(sending: Exchange, { connectMs, tryMs, maxBytes }: Bounds): Promise<S3Answer> {
  const { url, headers, isSecure, agent, method, body } = sending;
  return new Promise((resolve, reject) => {
    const sent = (isSecure ? requestSecure : requestPlain)(url, { method, headers, agent });
    const fail = (failure: S3Failure): void => {
      clearTimeout(timer);
      reject(failure);
      sent.destroy();
    };
    const timer = setTimeout(() => fail(new S3Failure('timeout')), tryMs);
    let isAnswered = false;
    sent.on('error', (cause) => {
      // A store that refuses may close the connection before it has read the body. Its answer says why.
      if (!isAnswered) fail(new S3Failure('unreachable', { cause }));
    });
    sent.on('socket', (socket) => {
      if (!socket.connecting) return;
      const connecting = setTimeout(() => fail(new S3Failure('timeout')), connectMs);
      const connected = (): void => clearTimeout(connecting);
      socket.once(isSecure ? 'secureConnect' : 'connect', connected);
      socket.once('close', connected);
    });
    sent.on('response', (message) => {
      isAnswered = true;
      readBounded(message, maxBytes).then((bytes) => {
        clearTimeout(timer);
        resolve({ status: message.statusCode ?? 0, headers: message.headers, body: bytes });
      }, fail);
    });
    sent.end(body);
  });
}

async function readBounded(message: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of message) {
      size += chunk.length;
      if (size > maxBytes) break;
      chunks.push(chunk);
    }
  } catch (cause) {
    throw new S3Failure('unreachable', { cause });
  }
  if (size > maxBytes) throw new S3Failure('too_large');
  return Buffer.concat(chunks);
}

function errorCodeOf({ body }: S3Answer): string | null {
  return /<Code>([A-Za-z0-9.]{1,64})<\/Code>/.exec(body.toString('latin1'))?.[1] ?? null;
}
