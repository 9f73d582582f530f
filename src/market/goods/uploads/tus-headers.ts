import type { IncomingHttpHeaders } from 'node:http';
import { LISTING_FIELDS } from '../../../contract/listing-fields.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { stateOf, type Upload } from './store.ts';

export const TUS_VERSION = '1.0.0';
export const UPLOAD_TYPE = 'application/offset+octet-stream';

/** Headers of every answer of tus. */
export const TUS_HEADERS = { 'tus-resumable': TUS_VERSION, 'cache-control': 'no-store' };

/** Headers that say what this server can do, for OPTIONS. */
export function describeTus(largestBytes: number): Record<string, string> {
  return {
    'tus-resumable': TUS_VERSION,
    'tus-version': TUS_VERSION,
    'tus-extension': 'creation,creation-with-upload,checksum,expiration,termination',
    'tus-max-size': String(largestBytes),
    'tus-checksum-algorithm': 'sha256',
  };
}

function refuseHeader(detail: string): Refusal {
  return new Refusal('upload_refused', { detail });
}

export function checkVersion(headers: IncomingHttpHeaders): void {
  if (headers['tus-resumable'] !== TUS_VERSION) {
    throw new Refusal('tus_version', { headers: { 'tus-version': TUS_VERSION } });
  }
}

/** Reads the size of a new upload. */
export function readUploadLength(headers: IncomingHttpHeaders): number {
  if (headers['upload-defer-length'] !== undefined || headers['upload-concat'] !== undefined) {
    throw refuseHeader('This market takes neither Upload-Defer-Length nor Upload-Concat: say Upload-Length.');
  }
  const bytes = readBytes(headers, 'upload-length');
  if (bytes === 0) throw refuseHeader('Upload-Length is 0, and goods have at least one byte.');
  return bytes;
}

export function readUploadOffset(headers: IncomingHttpHeaders): number {
  return readBytes(headers, 'upload-offset');
}

/** Fifteen digits are below the largest integer that a number can hold. */
const BYTES = /^(?:0|[1-9]\d{0,14})$/;

function readBytes(headers: IncomingHttpHeaders, name: 'upload-length' | 'upload-offset'): number {
  const text = headers[name];
  if (typeof text === 'string' && BYTES.test(text)) return Number(text);
  const shown = name === 'upload-length' ? 'Upload-Length' : 'Upload-Offset';
  throw refuseHeader(`${shown} must be given once, as a number of bytes.`);
}

/** Returns the announced length of a body, 0 if there is none, and null if it is sent in chunks. */
export function readBodyLength(headers: IncomingHttpHeaders): number | null {
  if (headers['transfer-encoding'] !== undefined) return null;
  return Number(headers['content-length'] ?? 0);
}

export function checkUploadType(headers: IncomingHttpHeaders): void {
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  const { 'content-encoding': encoding = 'identity' } = headers;
  if (type.trim().toLowerCase() === UPLOAD_TYPE && encoding === 'identity') return;
  throw new Refusal('unsupported_media_type', { detail: `The body of an upload must be plain ${UPLOAD_TYPE}.` });
}

const CHECKSUM = /^sha256 ([A-Za-z0-9+/]{43}=)$/;

/** Reads the SHA-256 of the body. Null if none was sent. */
export function readChecksum(headers: IncomingHttpHeaders): Buffer | null {
  const text = headers['upload-checksum'];
  if (text === undefined) return null;
  const base64 = CHECKSUM.exec(String(text).trim())?.[1];
  if (base64 === undefined) throw refuseHeader('Upload-Checksum must be "sha256", a space and the hash in base64.');
  return Buffer.from(base64, 'base64');
}

export interface UploadNames {
  filename: string | null;
  mediaType: string | null;
}

/** Reads the file's name and type. Ignores values that a listing would refuse, and all other keys. */
export function readMetadata(headers: IncomingHttpHeaders): UploadNames {
  const text = headers['upload-metadata'];
  const pairs = new Map<string, string>();
  for (const pair of typeof text === 'string' ? text.split(',') : []) {
    const [key = '', value = ''] = pair.trim().split(' ');
    pairs.set(key, Buffer.from(value, 'base64').toString('utf8'));
  }
  const { artifact_filename: filename, artifact_media_type: mediaType } = LISTING_FIELDS;
  return {
    filename: filename.schema.safeParse(pairs.get('filename')).data ?? null,
    mediaType: mediaType.schema.safeParse(pairs.get('filetype')).data ?? null,
  };
}

function metadataOf({ filename, mediaType }: UploadNames): string {
  const writePair = (key: string, value: string | null): string[] =>
    value === null ? [] : [`${key} ${Buffer.from(value).toString('base64')}`];
  return [...writePair('filename', filename), ...writePair('filetype', mediaType)].join(',');
}

/** Returns the headers that describe an upload. */
export function headersOf(upload: Upload, now: number): Record<string, string> {
  const metadata = metadataOf(upload);
  const state = stateOf(upload, now);
  return {
    'upload-offset': String(upload.received),
    'upload-length': String(upload.bytes),
    ...(metadata === '' ? {} : { 'upload-metadata': metadata }),
    ...(state === 'held' || state === 'listed' ? {} : { 'upload-expires': upload.expiresAt.toUTCString() }),
  };
}
