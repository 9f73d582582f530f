import { getStore } from '../../contract/listings.ts';
import type { QuickAnswer, QuickRead } from '../../platform/http/prepared.ts';
import type { Answers } from '../catalog/serve/answers.ts';
import { quickQuery } from '../quick-query.ts';
import { merchantBasis } from './merchant-json.ts';
import { storeParts } from './store-parts.ts';

const HANDLE = /^[a-z0-9-]{1,64}$/;

/** A page of a store out of memory; whole stores take the long way. */
export function quickStore(answers: Answers, read: QuickRead, handle: string, query: string): QuickAnswer | null {
  if (query === '' || !HANDLE.test(handle)) return null;
  const asked = quickQuery(getStore.query, query);
  if (asked?.limit === undefined) return null;
  const store = { handle, limit: asked.limit, beforeId: Number(asked.before_id ?? 0n) };
  return answers.quick(read, read.target, (model) => storeParts(model, store), merchantBasis);
}
