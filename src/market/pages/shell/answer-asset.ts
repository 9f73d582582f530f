import type { PageAnswer } from '../../../platform/http/server-options.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { ASSETS } from './assets.ts';

/** A file of the shell, by its name with the hash in it. */
export function answerAsset(name: string): PageAnswer {
  const asset = ASSETS.get(`/assets/${name}`);
  if (asset === undefined) throw new Refusal('not_found', { detail: 'There is no such file.' });
  return { status: 200, headers: { 'content-type': asset.type }, body: asset.body };
}
