import type { Hex } from 'viem';
import { own } from '../../contract/own-words.ts';
import { UPLOAD_ID, UPLOAD_PATH } from '../../contract/uploads.ts';
import { toBase64 } from '../base64.ts';
import { MarketError, UnreadableAnswer } from '../errors.ts';
import { readRefusal } from '../read-answer.ts';
import { type ByteSource, type Bytes, partsOf, readPart, sourceOf } from './byte-source.ts';
import { checksumOf, createDigest, type Digest } from './digest.ts';
import { sendRequest, type UploadLink } from './link.ts';
import { createPatience, type Patience, repeatUntilDone } from './patience.ts';

export interface UploadOptions {
  /** Name that buyers see. */
  filename?: string;
  mediaType?: string;
  /** ID of an unfinished upload of the same bytes, from `onStarted`. If the market no longer has it, a new upload begins. */
  resume?: string;
  /** Awaited before the first byte is sent. Keep the ID to resume after a crash. */
  onStarted?(id: string): void | Promise<void>;
  onProgress?(progress: UploadProgress): void;
  signal?: AbortSignal;
}

export interface UploadProgress {
  /** Bytes that the market has stored. */
  sent: number;
  bytes: number;
}

/** Bytes that are ready to be listed: pass it to `listGoods` as `upload`. */
export interface Upload {
  id: string;
  sha256: Hex;
  bytes: number;
}

/** The market's hash of an upload isn't that of the bytes that were sent: they changed while they were read. Upload them again. */
export class UploadMismatch extends Error {
  override readonly name = 'UploadMismatch';
  readonly id: string;

  constructor(id: string) {
    super('the market stored other bytes than were read at the end: they changed during the upload');
    this.id = id;
  }
}

const MOST_BYTES_AT_ONCE = 8_388_608;
const FIRST_BYTES_AT_ONCE = 1_048_576;
/** Small enough to get through a connection that keeps breaking: a request that breaks off stores nothing. */
const LEAST_BYTES_AT_ONCE = 65_536;
/** A slower connection than this counts as broken. */
const LEAST_BYTES_PER_SECOND = 16_384;

const TUS = { 'tus-resumable': '1.0.0' } as const;

interface UploadRun {
  link: UploadLink;
  source: ByteSource;
  options: UploadOptions;
  patience: Patience;
  digest: Digest;
  digestedBytes: number;
}

/**
 * Uploads bytes by tus 1.0.0 with a checksum for each request, and resolves once the market has all of them and their hash is the same.
 * Continues from the last stored byte after a broken connection, and gives up after ten failures in a row. Throws `MarketError`,
 * `UnreadableAnswer` and `UploadMismatch`; after each, the same call with `resume` continues.
 */
export async function uploadBytes(link: UploadLink, bytes: Bytes, options: UploadOptions): Promise<Upload> {
  const source = sourceOf(bytes);
  if (source.size === 0) throw new TypeError('there are no bytes to upload');
  const patience = createPatience(link.environment, options.signal);
  const run: UploadRun = { link, source, options, patience, digest: createDigest(), digestedBytes: 0 };
  const { id, offset } = (await findStarted(run)) ?? (await startUpload(run));
  await sendFrom(run, id, offset);
  await digestUpTo(run, source.size);
  const sha256 = run.digest.toHex();
  await checkHash(run, id, sha256);
  return { id, sha256, bytes: source.size };
}

interface Started {
  id: string;
  offset: number;
}

async function findStarted(run: UploadRun): Promise<Started | null> {
  const { resume: id } = run.options;
  if (id === undefined) return null;
  if (!UPLOAD_ID.test(id)) throw new TypeError('resume must be the ID of an upload');
  const offset = await readOffset(run, id);
  if (offset === null) return null;
  run.options.onProgress?.({ sent: offset, bytes: run.source.size });
  return { id, offset };
}

async function startUpload(run: UploadRun): Promise<Started> {
  const { onStarted } = run.options;
  const id = await createUpload(run);
  await onStarted?.(id);
  return { id, offset: 0 };
}

/** Creates the upload. If the answer is lost, looks for the upload before creating another, because few may be open at once. */
async function createUpload(run: UploadRun): Promise<string> {
  const { link, patience } = run;
  let mayExist = false;
  for (;;) {
    try {
      const found = mayExist ? await findEmpty(run) : null;
      if (found !== null) return found;
      const response = await sendTo(run, link.baseUrl + UPLOAD_PATH, 'POST', creationOf(run));
      if (response.status !== 201) throw await readRefusal(response);
      await response.body?.cancel();
      // Only the ID is used, so that the key is never sent to an address that the answer names.
      const id = response.headers.get('location')?.split('/').at(-1) ?? '';
      if (UPLOAD_ID.test(id)) return id;
      throw new UnreadableAnswer('unexpected', own`the answer doesn’t name the upload`, { status: 201 });
    } catch (error) {
      mayExist ||= error instanceof UnreadableAnswer;
      await patience.pauseAfter(error);
    }
  }
}

function creationOf({ source, options }: UploadRun): Record<string, string> {
  const { filename, mediaType: filetype } = options;
  const named = Object.entries({ filename, filetype }).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const metadata = named.map(([name, text]) => `${name} ${toBase64(new TextEncoder().encode(text))}`).join(',');
  return { 'upload-length': String(source.size), ...(metadata === '' ? {} : { 'upload-metadata': metadata }) };
}

async function findEmpty({ link, source, options }: UploadRun): Promise<string | null> {
  const rows = await link.listUploads(options.signal);
  const isOurs = (filename: string | null) => filename === null || filename === options.filename;
  const found = rows.find(
    (row) => row.state === 'open' && row.received_bytes === 0 && row.bytes === source.size && isOurs(row.filename),
  );
  return found?.id ?? null;
}

async function sendFrom(run: UploadRun, id: string, start: number): Promise<void> {
  const { source, patience, options } = run;
  let [offset, atOnce] = [start, FIRST_BYTES_AT_ONCE];
  const advanceTo = async (next: number, part?: Uint8Array): Promise<void> => {
    if (next > offset) patience.noteProgress();
    await digestUpTo(run, next, part === undefined ? undefined : { part, from: offset });
    offset = next;
    options.onProgress?.({ sent: offset, bytes: source.size });
  };
  while (offset < source.size) {
    const part = await readPart(source, offset, Math.min(source.size, offset + atOnce));
    try {
      await advanceTo(await sendPart(run, id, offset, part), part);
      atOnce = Math.min(MOST_BYTES_AT_ONCE, atOnce * 2);
    } catch (error) {
      atOnce = Math.max(LEAST_BYTES_AT_ONCE, atOnce / 2);
      await patience.pauseAfter(error);
      const stored = await readOffset(run, id);
      if (stored === null) throw error;
      await advanceTo(stored);
    }
  }
}

/** Sends one part and returns the offset behind it. */
async function sendPart(run: UploadRun, id: string, offset: number, part: Uint8Array): Promise<number> {
  const headers = {
    'content-type': 'application/offset+octet-stream',
    'upload-offset': String(offset),
    'upload-checksum': `sha256 ${toBase64(checksumOf(part))}`,
  };
  const response = await sendTo(run, urlOf(run, id), 'PATCH', headers, part);
  if (!response.ok) throw await readRefusal(response);
  await response.body?.cancel();
  const next = offsetIn(response);
  if (next === offset + part.length) return next;
  const { status } = response;
  throw new UnreadableAnswer('unexpected', own`the answer to the bytes names a wrong Upload-Offset`, { status });
}

/** Asks how many bytes are stored. Returns null if the market has no such upload, or one of another size. */
async function readOffset(run: UploadRun, id: string): Promise<number | null> {
  const { link, source, options, patience } = run;
  return await repeatUntilDone(patience, async () => {
    const response = await sendTo(run, urlOf(run, id), 'HEAD', {});
    const { status, headers } = response;
    if (response.ok) {
      const offset = offsetIn(response);
      if (offset !== null && offset <= source.size && headers.get('upload-length') === String(source.size))
        return offset;
      return null;
    }
    if (status === 404 || status === 410) return null;
    // An answer to HEAD has no body, and so no reason. Another request with the same key gets one.
    if (status < 500 && status !== 429) await link.listUploads(options.signal);
    throw new UnreadableAnswer('not_a_problem', own`status ${status} without a reason`, { status, headers });
  });
}

function offsetIn({ headers }: Response): number | null {
  const text = headers.get('upload-offset') ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function urlOf({ link }: UploadRun, id: string): string {
  return `${link.baseUrl}${UPLOAD_PATH}/${id}`;
}

async function sendTo(
  { link, options }: UploadRun,
  url: string,
  method: string,
  headers: Record<string, string>,
  part?: Uint8Array,
): Promise<Response> {
  const { environment, key, timeoutMs } = link;
  const sendingMs = Math.ceil(((part?.length ?? 0) / LEAST_BYTES_PER_SECOND) * 1_000);
  const deadline = environment.deadline(timeoutMs + sendingMs);
  const signal = options.signal === undefined ? deadline : AbortSignal.any([deadline, options.signal]);
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const accept = 'application/json, application/problem+json';
  return await sendRequest(link, url, {
    method,
    headers: { ...TUS, accept, ...authorization, ...headers },
    signal,
    // The types of Node and of browsers differ for parts of shared memory, which none of ours is.
    ...(part === undefined ? {} : { body: part as Uint8Array<ArrayBuffer> }),
  });
}

/** Digests the bytes up to an offset: those in memory if they come next, otherwise those of the source. */
async function digestUpTo(run: UploadRun, to: number, given?: { part: Uint8Array; from: number }): Promise<void> {
  if (to <= run.digestedBytes) return;
  if (given?.from === run.digestedBytes && given.part.length === to - given.from) run.digest.add(given.part);
  else for await (const part of partsOf(run.source, run.digestedBytes, to)) run.digest.add(part);
  run.digestedBytes = to;
}

/** Waits for the market's own hash, which a market that was killed computes when it is asked again. */
async function checkHash(run: UploadRun, id: string, sha256: Hex): Promise<void> {
  const { link, options, patience } = run;
  await repeatUntilDone(patience, async () => {
    const row = (await link.listUploads(options.signal)).find((one) => one.id === id);
    if (row === undefined) throw new UnreadableAnswer('unexpected', own`the market doesn’t list the upload`);
    if (row.sha256 === sha256) return;
    if (row.sha256 !== null) throw new UploadMismatch(id);
    await readOffset(run, id);
    throw new UnreadableAnswer('no_answer', own`the market hasn’t hashed the upload yet`);
  });
}

/** Whether an upload with this error's ID is gone, so that the goods have to be uploaded again. */
export function isUploadGone(error: unknown): error is MarketError {
  return error instanceof MarketError && (error.reason === 'upload_ended' || error.reason === 'upload_not_found');
}
