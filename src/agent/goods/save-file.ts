import { constants } from 'node:fs';
import { type FileHandle, lstat, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { formed, ofOwner, own } from '../../contract/own-words.ts';
import type { Client } from '../../sdk/client.ts';
import type { DeliveredGoods } from '../../sdk/goods/download.ts';
import { ArtifactMismatch } from '../../sdk/payments/artifact-commitment.ts';
import { AgentError } from '../agent-error.ts';
import { lockFile } from '../lock-file.ts';
import { makeFolderOf, moveToNew, syncFolderOf } from '../private-file.ts';
import { type GoodsTarget, keptGoodsOf, namesFor, noFreeName, placeOf } from '../save-goods.ts';
import type { OnBytes } from '../spend-options.ts';
import type { KeptGoods } from '../spend-record.ts';
import { commitmentOfFile, fileSource } from './file-bytes.ts';
import { otherGoodsMidway } from './goods-errors.ts';

export interface SaveFileOptions {
  client: Client;
  /** Collects the same goods again without paying, for a fresh token. */
  collectAgain?: () => Promise<DeliveredGoods>;
  onBytes?: OnBytes | undefined;
  signal?: AbortSignal | undefined;
}

export interface SavedFile {
  kept: KeptGoods;
  /** Set if all bytes came and aren't the promised ones. They are saved nevertheless, as evidence. */
  mismatch: ArtifactMismatch | null;
}

/**
 * Downloads goods that are a file, mode 0600, durably. The bytes go to a `.part` file first, from which the next call continues, and get
 * their name once all are there and checked. Reuses an identical file and never overwrites another. Throws `file_exists`,
 * `goods_under_way` if `signal` aborts, `goods_not_arrived` if the market sends something else midway, and what the client throws.
 */
export async function saveFile(
  options: SaveFileOptions,
  delivery: DeliveredGoods,
  target: GoodsTarget,
): Promise<SavedFile> {
  const { download, artifact_commitment: commitment } = delivery;
  if (download === null || commitment === undefined) throw new TypeError('these goods are no file');
  const { folder, name, isExact } = placeOf(delivery, target);
  // The commitment keeps bytes of different goods apart, because free goods may be edited between two calls.
  const part = join(folder, `${name}.${commitment.slice(2, 10)}.part`);
  await makeFolderOf(part);
  const lock = await lockFile(part);
  try {
    const promised = { bytes: download.bytes, salt: delivery.artifact_salt };
    const names = namesFor(folder, name, isExact);
    const here = await findHere(names, promised, commitment);
    if (here.path !== null)
      return { kept: keptGoodsOf(delivery, { ...promised, ...here, commitment }), mismatch: null };
    if (here.free === null) throw noFreeName(folder, name, isExact);
    const mismatch = await fillPart(options, delivery, part);
    if (mismatch !== null && (await sizeOf(part)) !== download.bytes) {
      await rm(part, { force: true });
      throw otherGoodsMidway(delivery);
    }
    const path = await givePlace(part, names.slice(names.indexOf(here.free)));
    if (path === null) throw noFreeName(folder, name, isExact);
    const actual = mismatch?.actual ?? commitment;
    return { kept: keptGoodsOf(delivery, { path, bytes: await sizeOf(path), commitment: actual }), mismatch };
  } finally {
    await lock.release();
  }
}

/** Looks for a file with these goods under one of the names, up to the first free name. */
async function findHere(
  names: readonly string[],
  promised: { bytes: number; salt: string },
  commitment: string,
): Promise<{ path: string; free: null } | { path: null; free: string | null }> {
  for (const path of names) {
    const found = await commitmentOfFile(path, promised);
    if (found === null) return { path: null, free: path };
    if (found === commitment) return { path, free: null };
  }
  return { path: null, free: null };
}

async function givePlace(part: string, names: readonly string[]): Promise<string | null> {
  for (const path of names) {
    if (!(await moveToNew(part, path))) continue;
    await syncFolderOf(path);
    return path;
  }
  return null;
}

async function sizeOf(path: string): Promise<number> {
  return (await lstat(path)).size;
}

/** Downloads what the part lacks. If a part from an earlier call turns out wrong, downloads everything once more. */
async function fillPart(
  options: SaveFileOptions,
  delivery: DeliveredGoods,
  part: string,
): Promise<ArtifactMismatch | null> {
  const begun = await beginPart(part, delivery.download?.bytes ?? 0);
  try {
    await downloadTo(options, delivery, part, begun);
    return null;
  } catch (error) {
    if (!(error instanceof ArtifactMismatch)) throw error;
    if (begun === 0) return error;
  }
  await rm(part, { force: true });
  return await fillPart(options, delivery, part);
}

/** Returns how many bytes of an earlier call there are. Anything else under that name is removed. */
async function beginPart(part: string, bytes: number): Promise<number> {
  const stats = await lstat(part).catch(() => null);
  if (stats === null) return 0;
  const self = process.getuid?.();
  if (stats.isFile() && stats.size <= bytes && (self === undefined || stats.uid === self)) return stats.size;
  await rm(part, { force: true });
  return 0;
}

async function downloadTo(
  { client, onBytes, signal, collectAgain }: SaveFileOptions,
  delivery: DeliveredGoods,
  part: string,
  begun: number,
): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0);
  const file = await open(part, flags, 0o600);
  try {
    await client.download(delivery, {
      to: (bytes) => writeAll(file, bytes),
      ...(begun === 0 ? {} : { resume: fileSource(part, begun) }),
      ...(collectAgain === undefined ? {} : { collectAgain }),
      ...(signal === undefined ? {} : { signal }),
      onProgress: ({ received, bytes }) => onBytes?.({ way: 'download', done: received, bytes }),
    });
  } catch (error) {
    if (signal?.aborted !== true) throw error;
    throw underWay(await sizeOf(part), delivery, part);
  } finally {
    // Survives a crash, because the next call continues behind it.
    await file.sync().catch(() => {});
    await file.close();
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
}

function underWay(done: number, { download, receipt }: DeliveredGoods, part: string): AgentError {
  return new AgentError('unknown', {
    reason: 'goods_under_way',
    title: own`The download stopped at ${done} of ${download?.bytes ?? 0} bytes, which are in ${ofOwner(part)}`,
    nextStep:
      receipt === null
        ? own`Run the same command again: it continues there.`
        : own`Do not pay again (paid in ${formed('hash', receipt.tx_hash)}). Run the same command again: it continues there.`,
    ...(receipt === null ? {} : { doNotPayAgain: true }),
  });
}
