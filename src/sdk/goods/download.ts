import type { Delivery } from '../../contract/listings.ts';
import { own } from '../../contract/own-words.ts';
import { DOWNLOAD_PATH } from '../../contract/uploads.ts';
import { MarketError, UnreadableAnswer } from '../errors.ts';
import { ArtifactMismatch, artifactBytes } from '../payments/artifact-commitment.ts';
import { readRefusal } from '../read-answer.ts';
import { type Bytes, partsOf, sourceOf } from './byte-source.ts';
import { createCommitmentDigest, type Digest } from './digest.ts';
import { type GoodsLink, sendRequest } from './link.ts';
import { createPatience, type Patience } from './patience.ts';
import { type ByteSink, openSink, type Sink } from './sink.ts';

/** Delivered goods. `buy` adds the commitment that the listing published before the purchase. */
export type DeliveredGoods = Delivery & { artifact_commitment?: string | undefined };

export interface DownloadOptions {
  /** Gets the goods in order, each byte once. A stream is closed at the end, and aborted if the download fails. */
  to: ByteSink;
  /** Bytes of these goods that an earlier call passed on. They are checked, and `to` gets the rest. */
  resume?: Bytes;
  /** Default: `artifact_commitment` of the goods, otherwise the one that the listing publishes now. */
  commitment?: string;
  /** Collects the goods again when the token of the delivery has expired. It must pay nothing. */
  collectAgain?(): Promise<DeliveredGoods>;
  onProgress?(progress: DownloadProgress): void;
  signal?: AbortSignal;
}

export interface DownloadProgress {
  /** Bytes passed on, earlier calls included. */
  received: number;
  bytes: number;
}

/** Type of every file that a market sends. The seller's media type could make a browser run the goods. */
const GOODS_TYPE = /^application\/octet-stream\s*(?:;|$)/i;
/** The commitment as a strong tag. */
const GOODS_TAG = /^"0x[0-9a-f]{64}"$/;

interface DownloadRun {
  link: GoodsLink;
  goods: DeliveredGoods;
  options: DownloadOptions;
  commitment: string;
  digest: Digest;
  received: number;
  bytes: number;
  sink: Sink;
  patience: Patience;
}

/**
 * Streams delivered goods to `to` and checks them against the commitment. Continues after a broken connection, and gives up after ten
 * failures in a row. Pays nothing. Throws `ArtifactMismatch` if the bytes aren't the promised ones, `MarketError`, `UnreadableAnswer`, and
 * what `to` throws.
 */
export async function downloadGoods(
  link: GoodsLink,
  goods: DeliveredGoods,
  commitment: string,
  options: DownloadOptions,
): Promise<void> {
  const sink = openSink(options.to);
  try {
    const bytes = goods.download === null ? artifactBytes(goods).length : goods.download.bytes;
    const digest = createCommitmentDigest(goods.artifact_salt);
    const patience = createPatience(link.environment, options.signal);
    const run: DownloadRun = { link, goods, options, commitment, digest, received: 0, bytes, sink, patience };
    await digestResumed(run);
    await (goods.download === null ? passInline(run) : receiveAll(run));
    const actual = digest.toHex();
    if (actual !== commitment) throw new ArtifactMismatch(goods, commitment, actual);
    await sink.close();
  } catch (error) {
    await sink.abort(error);
    throw error;
  }
}

async function digestResumed(run: DownloadRun): Promise<void> {
  const { resume } = run.options;
  if (resume === undefined) return;
  const source = sourceOf(resume);
  if (source.size > run.bytes) throw new TypeError('resume has more bytes than the goods');
  for await (const part of partsOf(source, 0, source.size)) run.digest.add(part);
  run.received = source.size;
}

async function passInline(run: DownloadRun): Promise<void> {
  await passOn(run, artifactBytes(run.goods).subarray(run.received));
}

async function receiveAll(run: DownloadRun): Promise<void> {
  let hasCollectedAt = -1;
  while (run.received < run.bytes) {
    try {
      await receiveSome(run);
    } catch (error) {
      const { collectAgain } = run.options;
      if (collectAgain === undefined || !mayCollectAgain(error) || hasCollectedAt === run.received) {
        await run.patience.pauseAfter(error);
        continue;
      }
      hasCollectedAt = run.received;
      const again = await collectAgain();
      // Other goods under the same listing would be mixed with those that have arrived.
      if (again.artifact_salt !== run.goods.artifact_salt)
        throw new ArtifactMismatch(again, run.commitment, again.artifact_salt);
      run.goods = again;
    }
  }
}

/** Whether the right to download has run out. A fresh delivery brings a fresh token. */
function mayCollectAgain(error: unknown): boolean {
  return error instanceof MarketError && [401, 402, 403, 409].includes(error.status);
}

/** Sends one request and passes on what comes, from the first missing byte on. */
async function receiveSome(run: DownloadRun): Promise<void> {
  const { link, goods, options } = run;
  const broken = new AbortController();
  const signals = [broken.signal, ...(options.signal === undefined ? [] : [options.signal])];
  const idle = createIdleLimit(link, broken);
  // The goods also name an address. It isn't used, so that key and token go only to the address that the caller named.
  const url = `${link.baseUrl}${DOWNLOAD_PATH}/${goods.listing_id}`;
  const init = { method: 'GET', headers: headersOf(run), signal: AbortSignal.any(signals) };
  const response = await idle.within(sendRequest(link, url, init));
  if (!response.ok) throw await idle.within(readRefusal(response));
  const reader = response.body?.getReader();
  let isOver = reader === undefined;
  try {
    let skipped = mustBeNext(run, response);
    while (!isOver && reader !== undefined) {
      const read = await idle.within(reader.read().catch((cause: unknown) => brokenOff(response, cause)));
      isOver = read.done;
      if (read.value === undefined) continue;
      const rest = read.value.subarray(Math.min(skipped, read.value.length));
      skipped -= read.value.length - rest.length;
      await passOn(run, rest);
    }
  } finally {
    if (!isOver) broken.abort();
  }
  if (run.received < run.bytes) brokenOff(response);
}

function brokenOff({ status, headers }: Response, cause?: unknown): never {
  throw new UnreadableAnswer('no_answer', own`the goods broke off`, { status, headers, cause });
}

/** Checks that the answer is the goods from where they were asked for. Returns the bytes to skip, if it has all of them. */
function mustBeNext({ received, bytes, goods, commitment }: DownloadRun, response: Response): number {
  const { status, headers } = response;
  // A payment that is undecided again, after the market lost its record, is answered with JSON and 202.
  if (status !== 200 && status !== 206)
    throw new UnreadableAnswer('unexpected', own`the answer is not the goods`, { status, headers });
  const tag = headers.get('etag');
  // A proxy may answer in place of the market, for instance with a page to sign in. The market answers when it is asked again.
  if (!GOODS_TYPE.test(headers.get('content-type') ?? '') || (tag !== null && !GOODS_TAG.test(tag)))
    throw new UnreadableAnswer('no_answer', own`the answer is a proxy’s, not the market’s`, { status, headers });
  if (status === 206) {
    const [, from, total] = /^bytes (\d{1,15})-\d{1,15}\/(\d{1,15})$/.exec(headers.get('content-range') ?? '') ?? [];
    if (Number(from) === received && Number(total) === bytes) return 0;
    throw new UnreadableAnswer('unexpected', own`the answer is another range of the goods`, { status, headers });
  }
  // The market answers with all bytes if the goods are no longer those that began to arrive.
  if (received > 0 && tag !== null && tag !== `"${commitment}"`)
    throw new ArtifactMismatch(goods, commitment, tag.replaceAll('"', ''));
  return received;
}

async function passOn(run: DownloadRun, part: Uint8Array): Promise<void> {
  const { goods, commitment, bytes, options, sink, digest } = run;
  if (part.length === 0) return;
  if (run.received + part.length > bytes) throw new ArtifactMismatch(goods, commitment, 'more bytes than promised');
  await sink.write(part);
  digest.add(part);
  run.received += part.length;
  run.patience.noteProgress();
  options.onProgress?.({ received: run.received, bytes });
}

function headersOf({ link, goods, received, commitment }: DownloadRun): Record<string, string> {
  const range = received === 0 ? {} : { range: `bytes=${received}-`, 'if-range': `"${commitment}"` };
  // A compressed answer would have other offsets.
  return { accept: '*/*', 'accept-encoding': 'identity', ...range, ...credentialOf(link, goods) };
}

/** Chooses the credential that belongs to this delivery. */
function credentialOf({ key }: GoodsLink, { download, delivery_token }: DeliveredGoods): Record<string, string> {
  const token = download?.download_token ?? null;
  if (token !== null) return { 'x-download-token': token };
  if (delivery_token !== undefined) return { 'x-delivery-token': delivery_token };
  return key === undefined ? {} : { authorization: `Bearer ${key}` };
}

interface IdleLimit {
  /** Waits for a result. Aborts the request if none comes in time. */
  within<T>(result: Promise<T>): Promise<T>;
}

/** Ends a download on which nothing arrives for the client's time limit, or up to half as long again. */
function createIdleLimit({ environment, timeoutMs }: GoodsLink, broken: AbortController): IdleLimit {
  let until = 0;
  let deadline: AbortSignal | undefined;
  return {
    within: async (result) => {
      const nowMs = environment.now();
      // One timer serves many reads, because a fast download has thousands a second.
      if (deadline === undefined || deadline.aborted || until - nowMs < timeoutMs) {
        deadline = environment.deadline(timeoutMs * 1.5);
        until = nowMs + timeoutMs * 1.5;
      }
      const current = deadline;
      const stop = (): void => broken.abort(current.reason);
      current.addEventListener('abort', stop, { once: true });
      try {
        return await result;
      } finally {
        current.removeEventListener('abort', stop);
      }
    },
  };
}
