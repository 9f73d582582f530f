import type { Sort } from '../../../contract/vocabulary.ts';
import type { Model } from '../model/model.ts';

/** The last act that matters to that order: pins where they lead, edits where the words of a listing are its place. */
export function actOf({ pinAct, editAct }: Model, sort: Sort): number {
  if (sort === 'relevance') return editAct;
  return sort === 'price_asc' || sort === 'price_desc' ? 0 : pinAct;
}

/**
 * How far this copy has come in what moves rows within that order, as a number that every such change raises and no other. What two
 * copies have seen is never more on one side and less on the other, so the lower number is that of the copy that is behind.
 */
export function reachOf(model: Model, sort: Sort): number {
  const act = actOf(model, sort);
  if (sort === 'karma') return act + model.votes;
  return sort === 'sales' ? act + model.sales : act;
}
