import { sha256 } from '../canonical-json.ts';
import { Refusal } from '../refusal.ts';
import type { PageAnswer } from './server-options.ts';

export interface Asset {
  /** Contains a hash of the content, so clients may cache it for ever. */
  path: string;
  type: string;
  body: Buffer;
}

const HASH_CHARACTERS = 16;

export function createAsset(name: string, extension: string, type: string, body: Buffer): Asset {
  const hash = sha256(body).toString('hex').slice(0, HASH_CHARACTERS);
  return { path: `/assets/${name}-${hash}.${extension}`, type, body };
}

export function answerAsset(assets: readonly Asset[], name: string): PageAnswer {
  const file = assets.find(({ path }) => path === `/assets/${name}`);
  if (file === undefined) throw new Refusal('not_found', { detail: 'This file does not exist.' });
  return { status: 200, headers: { 'content-type': file.type }, body: file.body };
}
