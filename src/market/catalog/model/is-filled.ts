import type { Model } from './model.ts';

/**
 * Whether the JSON of a listing was ever read: if not, nothing is known of it but what decides on its shelves, and no ETag either.
 * Of one that has left memory again that is known.
 */
export function isFilled({ fragments }: Pick<Model, 'fragments'>, id: number): boolean {
  return fragments.version(id) !== 0;
}

/** The first that are known and not filled, of those with a higher id. */
export function nextUnfilled(model: Model, above: number, most: number): number[] {
  const { columns, newestId } = model;
  const found: number[] = [];
  for (let id = above + 1; id <= newestId && found.length < most; id += 1) {
    if (columns.state[id] !== 0 && !isFilled(model, id)) found.push(id);
  }
  return found;
}

export function areFilled(model: Pick<Model, 'fragments'>, ids: readonly number[]): boolean {
  for (const id of ids) if (!isFilled(model, id)) return false;
  return true;
}
