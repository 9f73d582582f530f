/** What a word counts for by the field it stands in: title, tags, seller, description, preview. */
export const FIELD_WEIGHTS: readonly number[] = [4, 3, 2, 1, 1];

const SATURATION = 1.2;
const LENGTH_SHARE = 0.5;
/**
 * A constant in place of the true average, so that the level of a word depends on its listing alone: then no change of another listing
 * moves it, and a new index has the same levels as one that followed every change.
 */
const USUAL_LENGTH = 150;
/** So that once in the text, the seller, a tag and the title of a usual listing are different levels. */
const CUTS: readonly number[] = [0.55, 0.85, 1.2, 1.48, 1.66, 1.77];

/** The share of one word in the rank of a listing (BM25F without the rarity of the word), from 1 to 7. */
export function termLevel(weightedCount: number, length: number): number {
  const frequency = weightedCount / (1 - LENGTH_SHARE + (LENGTH_SHARE * length) / USUAL_LENGTH);
  const part = (frequency * (SATURATION + 1)) / (SATURATION + frequency);
  let level = 1;
  for (const cut of CUTS) {
    if (part >= cut) level += 1;
  }
  return level;
}

/** How much a word tells, from how many of all listings have it. A whole number, so that sums are exact. */
export function rarity(listings: number, having: number): number {
  return Math.max(1, Math.round(16 * Math.log(1 + (listings - having + 0.5) / (having + 0.5))));
}
