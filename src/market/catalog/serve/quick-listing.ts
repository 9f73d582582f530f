import { hash } from 'node:crypto';
import { matchesEtag } from '../../../platform/http/etag.ts';
import type { Prepared, QuickAnswer, QuickRead } from '../../../platform/http/prepared.ts';
import { isFilled } from '../model/is-filled.ts';
import type { Model } from '../model/model.ts';
import { detailTail, hasComments, joinDetail, NO_COMMENTS } from './detail.ts';

const HEAD = ['content-type', 'application/json; charset=utf-8'];
const ID = /^[1-9]\d{0,8}$/;
const STAMP_BYTES = 8;
const stamp = Buffer.alloc(STAMP_BYTES);

/** GET /api/listing/:id out of memory, where nothing is asked for beyond the listing. Comments are in the database alone. */
export function quickListing(model: Model, read: QuickRead, idText: string): QuickAnswer | null {
  if (!ID.test(idText)) return null;
  const id = Number(idText);
  if (!isFilled(model, id) || hasComments(model, id)) return null;
  const tail = detailTail(model, id, NO_COMMENTS);
  if (tail === null) return null;
  const etag = detailTag(model, id, tail);
  if (read.ifNoneMatch !== undefined && matchesEtag(read.ifNoneMatch, etag)) return { status: 304, etag, head: [] };
  const body = joinDetail(model.fragments, id, tail);
  return body && { status: 200, etag, head: HEAD, body };
}

export function prepareDetail(model: Model, id: number, body: Uint8Array, tail: string): Prepared {
  return { etag: detailTag(model, id, tail), head: HEAD, body };
}

/** The stamp stands for the summary; 96 bits of a hash for the rest. */
export function detailTag(model: Model, id: number, tail: string): string {
  model.fragments.stampInto(id, stamp, 0);
  return `"${stamp.toString('base64url')}.${hash('sha256', tail, 'base64url').slice(0, 16)}"`;
}
