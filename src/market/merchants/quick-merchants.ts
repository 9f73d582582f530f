import { listMerchants } from '../../contract/merchants.ts';
import type { QuickAnswer, QuickRead } from '../../platform/http/prepared.ts';
import type { Answers } from '../catalog/serve/answers.ts';
import { quickQuery } from '../quick-query.ts';
import { merchantBasis } from './merchant-json.ts';
import { merchantParts } from './merchant-page.ts';

/** A page of the merchants out of memory. */
export function quickMerchants(answers: Answers, read: QuickRead, query: string): QuickAnswer | null {
  const asked = quickQuery(listMerchants.query, query);
  if (asked === null) return null;
  const page = { limit: asked.limit, afterId: Number(asked.after_id ?? 0n) };
  return answers.quick(read, read.target, (model) => merchantParts(model, page), merchantBasis);
}
