import type { Model } from '../model/model.ts';
import { countShelf, type ShelfPlan, selectShelf } from './plan-shelf.ts';

/** A near spelling of the words that matches something under the same filters. */
export function didYouMean(model: Model, plan: ShelfPlan): string | null {
  const { typed } = plan;
  if (typed === null) return null;
  const known = plan.suggested;
  if (known !== null && known.model === model && known.version === model.version) return known.words;
  const suggestion = model.text.suggest(typed, (near) => {
    const search = model.text.compile(near);
    if (search === null) return false;
    return countShelf(model, { ...plan, counted: null }, selectShelf(model, plan, search)) > 0;
  });
  plan.suggested = { model, version: model.version, words: suggestion };
  return suggestion;
}
