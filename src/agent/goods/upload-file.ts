import { join } from 'node:path';
import type { Hex } from 'viem';
import { z } from 'zod';
import { own } from '../../contract/own-words.ts';
import { UPLOAD_ID } from '../../contract/uploads.ts';
import type { Client } from '../../sdk/client.ts';
import { MarketError } from '../../sdk/errors.ts';
import { UploadMismatch } from '../../sdk/goods/upload.ts';
import { AgentError } from '../agent-error.ts';
import { folderNameOf } from '../folders.ts';
import { lockFile } from '../lock-file.ts';
import { makeFolderOf, readPrivate, removePrivate, writePrivate } from '../private-file.ts';
import type { OnBytes } from '../spend-options.ts';
import { type GoodsFile, prepareGoods } from './goods-file.ts';

export interface UploadFileOptions {
  /** Client with the merchant's key. */
  client: Client;
  /** The folder of books and goods (`dataFolder`). */
  folder: string;
  onBytes?: OnBytes | undefined;
  signal?: AbortSignal | undefined;
}

/** Record of an upload that this machine keeps until its goods are listed. */
const keptUpload = z.strictObject({
  version: z.literal(1),
  id: z.string().regex(UPLOAD_ID),
  bytes: z.int(),
  sha256: z.string(),
  path: z.string(),
});

/**
 * Uploads goods and returns the upload's ID. An upload of the same bytes that was interrupted, or finished and not listed yet, is continued.
 * `anew` begins another one, because the market has lost it or uses it for another listing. Throws `goods_under_way` if `signal` aborts,
 * `goods_changed`, and what the client throws.
 */
export async function uploadFile(
  { client, folder, onBytes, signal }: UploadFileOptions,
  file: GoodsFile,
  { sha256, anew = false }: { sha256: Hex; anew?: boolean },
): Promise<string> {
  const memory = memoryOf(folder, client, sha256);
  await makeFolderOf(memory);
  const lock = await lockFile(memory, { needed: true });
  const { source, filename, mediaType, path } = file;
  let done = 0;
  try {
    const resume = anew ? null : await readMemory(memory);
    const upload = await client.upload(source, {
      ...(resume === null ? {} : { resume }),
      ...(filename === undefined ? {} : { filename }),
      ...(mediaType === undefined ? {} : { mediaType }),
      ...(signal === undefined ? {} : { signal }),
      onStarted: async (id) => {
        const kept: z.input<typeof keptUpload> = { version: 1, id, bytes: source.size, sha256, path };
        await writePrivate(memory, `${JSON.stringify(kept)}\n`, 'replace');
      },
      onProgress: ({ sent, bytes }) => {
        done = sent;
        onBytes?.({ way: 'upload', done: sent, bytes });
      },
    });
    if (upload.sha256 !== sha256) throw new UploadMismatch(upload.id);
    return upload.id;
  } catch (error) {
    if (error instanceof UploadMismatch) {
      await removePrivate(memory);
      throw changedGoods();
    }
    throw signal?.aborted === true ? underWay(done, source.size) : error;
  } finally {
    await lock.release();
  }
}

/** Sends goods with a request: in its body, or after an upload, which is made again if the market no longer has it for this request. */
export async function sendGoods<T>(
  options: UploadFileOptions,
  file: GoodsFile,
  send: (fields: object) => Promise<T>,
): Promise<T> {
  const { fields, sha256 } = await prepareGoods(options, file, async () => false);
  if (sha256 === null) return await send(fields);
  const answer = await sendUploaded(options, file, { sha256 }, (artifact_upload) => send({ artifact_upload }));
  await forgetUpload(options, sha256);
  return answer;
}

/** Runs work with the ID of an upload of the goods, and once more if the market no longer has that upload for it. */
export async function sendUploaded<T>(
  options: UploadFileOptions,
  file: GoodsFile,
  { sha256, held }: { sha256: Hex; held?: string | undefined },
  work: (id: string) => Promise<T>,
): Promise<T> {
  const id = held ?? (await uploadFile(options, file, { sha256 }));
  try {
    return await work(id);
  } catch (error) {
    if (!needsAnotherUpload(error)) throw error;
    return await work(await uploadFile(options, file, { sha256, anew: true }));
  }
}

/** Forgets an upload whose goods are listed. */
export async function forgetUpload(
  { client, folder }: Pick<UploadFileOptions, 'client' | 'folder'>,
  sha256: Hex,
): Promise<void> {
  const memory = memoryOf(folder, client, sha256);
  await makeFolderOf(memory);
  await removePrivate(memory);
}

/** Whether the goods have to be uploaded again: the market no longer has the bytes, or holds them for another listing. */
function needsAnotherUpload(error: unknown): boolean {
  return error instanceof MarketError && ['upload_ended', 'upload_not_found', 'upload_in_use'].includes(error.reason);
}

function memoryOf(folder: string, { baseUrl }: Client, sha256: Hex): string {
  return join(folder, 'uploads', folderNameOf(baseUrl), `${sha256.slice(2, 34)}.json`);
}

/** Returns null if there is none or it is unreadable: an upload is only begun again. */
async function readMemory(path: string): Promise<string | null> {
  const text = await readPrivate(path);
  try {
    return text === null ? null : keptUpload.parse(JSON.parse(text)).id;
  } catch {
    return null;
  }
}

function changedGoods(): AgentError {
  return new AgentError('refused', {
    reason: 'goods_changed',
    title: own`The goods changed while they were uploaded. Nothing was listed or paid`,
    nextStep: own`Run the same command again once they are complete.`,
  });
}

function underWay(done: number, bytes: number): AgentError {
  return new AgentError('unknown', {
    reason: 'goods_under_way',
    title: own`The upload stopped at ${done} of ${bytes} bytes, which the market keeps for 24 hours`,
    nextStep: own`Run the same command again: it continues there.`,
  });
}
