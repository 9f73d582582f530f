import type { Hex } from 'viem';
import { ofOwner, own } from '../../contract/own-words.ts';
import { INLINE_ARTIFACT_BYTES } from '../../contract/vocabulary.ts';
import type { Client } from '../../sdk/client.ts';
import type { ByteSource } from '../../sdk/goods/byte-source.ts';
import type { ListGoodsOptions } from '../../sdk/payments/list-goods.ts';
import { refusedFile } from '../agent-error.ts';
import { hashSource } from './file-bytes.ts';

export type Body = ListGoodsOptions['listing'];

/** Goods on this machine that are to be listed. */
export interface GoodsFile {
  source: ByteSource;
  /** Path of the file or folder, for messages. */
  path: string;
  filename?: string | undefined;
  mediaType?: string | undefined;
}

/** Larger goods are uploaded, so that a broken connection costs little. */
export const MOST_INLINE_BYTES = 65_536;

/** Returns the fields of goods that are part of the listing's body: UTF-8 as text, other bytes as base64. */
export async function inlineFields({ source }: GoodsFile): Promise<Pick<Body, 'artifact' | 'artifact_encoding'>> {
  const bytes = await source.slice(0, source.size);
  if (bytes.length !== source.size) throw changedFile();
  try {
    const artifact = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return { artifact, artifact_encoding: 'utf-8' };
  } catch {
    return { artifact: Buffer.from(bytes).toString('base64'), artifact_encoding: 'base64' };
  }
}

function changedFile() {
  return refusedFile(own`The goods changed while they were read`, own`Run the same command again.`, 'file_trouble');
}

/** Goods that are ready to be listed: as fields of the body, or with the hash of bytes that have to be uploaded first. */
export type PreparedGoods =
  | { fields: Pick<Body, 'artifact' | 'artifact_encoding'>; sha256: null }
  | { fields: Record<never, never>; sha256: Hex };

/**
 * Decides how goods get to the market. Small goods go into the body, and so do all goods at a market that takes no more than a body holds,
 * and goods for which `isBegun` says that their listing began so. Throws `file_too_large`.
 */
export async function prepareGoods(
  { client, signal }: { client: Client; signal?: AbortSignal | undefined },
  file: GoodsFile,
  isBegun: (fields: Pick<Body, 'artifact' | 'artifact_encoding'>) => Promise<boolean>,
): Promise<PreparedGoods> {
  const { source, path } = file;
  if (source.size <= MOST_INLINE_BYTES) return { fields: await inlineFields(file), sha256: null };
  const { limits } = (await client.getOfficialFacts({ signal })).body;
  const limit = limits['artifact_bytes'] ?? INLINE_ARTIFACT_BYTES;
  if (source.size > limit)
    throw refusedFile(
      own`${ofOwner(path)} has ${source.size} bytes; this market takes at most ${limit}`,
      own`Make it smaller, or split it.`,
      'file_too_large',
    );
  if (source.size <= INLINE_ARTIFACT_BYTES) {
    const fields = await inlineFields(file);
    // Markets of earlier versions take no uploads. Another body than the first would be another listing, with another fee.
    if (limit <= INLINE_ARTIFACT_BYTES || (await isBegun(fields))) return { fields, sha256: null };
  }
  return { fields: {}, sha256: await hashSource(source) };
}
