import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The rules of AWS Signature Version 4, written from its description and not from the signer that we use. */

export interface S3Access {
  region: string;
  /** Secrets by key id. */
  secrets: Readonly<Record<string, string>>;
  /** Time of day of the server in milliseconds. */
  now(): number;
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/,\s]+)\/(\d{8})\/([^/,\s]+)\/([^/,\s]+)\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;
const MAX_SKEW_MS = 15 * 60_000;

/** Returns the code of the error that S3 answers with, or null if the signature is valid for this request and body. */
export function findSignatureFault(request: IncomingMessage, body: Buffer, access: S3Access): string | null {
  const [, keyId, day, region, service, names, signature] =
    AUTHORIZATION.exec(request.headers.authorization ?? '') ?? [];
  if (keyId === undefined || names === undefined || signature === undefined) return 'AccessDenied';
  const secret = access.secrets[keyId];
  if (secret === undefined) return 'InvalidAccessKeyId';
  if (region !== access.region || service !== 's3') return 'AuthorizationHeaderMalformed';
  const at = String(request.headers['x-amz-date']);
  const atMs = Date.parse(at.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  if (Number.isNaN(atMs) || !at.startsWith(day ?? '')) return 'AccessDenied';
  if (Math.abs(access.now() - atMs) > MAX_SKEW_MS) return 'RequestTimeTooSkewed';
  const signed = names.split(';');
  if (!isEverythingSigned(request, signed)) return 'AccessDenied';
  const hash = createHash('sha256').update(body).digest('hex');
  if (request.headers['x-amz-content-sha256'] !== hash) return 'XAmzContentSHA256Mismatch';
  const text = ['AWS4-HMAC-SHA256', at, `${day}/${region}/s3/aws4_request`, hashOf(canonical(request, signed, hash))];
  const keys = [day, region, 's3', 'aws4_request'].reduce<Buffer>(
    (key, part) => createHmac('sha256', key).update(String(part)).digest(),
    Buffer.from(`AWS4${secret}`),
  );
  const expected = createHmac('sha256', keys).update(text.join('\n')).digest();
  return timingSafeEqual(expected, Buffer.from(signature, 'hex')) ? null : 'SignatureDoesNotMatch';
}

/** The host and every x-amz- header must be signed, in order. */
function isEverythingSigned({ headers }: IncomingMessage, signed: readonly string[]): boolean {
  const needed = ['host', ...Object.keys(headers).filter((name) => name.startsWith('x-amz-'))];
  const isSorted = signed.join(';') === signed.toSorted().join(';');
  return isSorted && needed.every((name) => signed.includes(name)) && signed.every((name) => name in headers);
}

function canonical({ method, url = '', headers }: IncomingMessage, signed: readonly string[], hash: string): string {
  const [path = '', query = ''] = url.split('?');
  const lines = signed.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}\n`);
  const encoded = decodeURIComponent(path).split('/').map(encodeStrictly).join('/');
  const pairs = query === '' ? [] : query.split('&').map((pair) => (pair.includes('=') ? pair : `${pair}=`));
  return [method, encoded, pairs.toSorted().join('&'), lines.join(''), signed.join(';'), hash].join('\n');
}

function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
