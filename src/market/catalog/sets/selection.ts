import { levelOf, type Posting } from './posting.ts';

/** The ids that are in every set of `must`, in none of `mustNot`, and pass every test. */
export interface Selection {
  /** At least one. */
  readonly must: readonly Posting[];
  readonly mustNot: readonly Posting[];
  /** Asked last, of those alone that the sets let through. They must not select anything themselves. */
  readonly tests: readonly ((id: number) => boolean)[];
}

/** A set that counts for the score of its members: weight (a whole number, at least 1) times level. */
export interface Weighted {
  readonly posting: Posting;
  readonly weight: number;
}

/** The set with the fewest members: whatever is looked for is in there. */
export function smallestOf(must: readonly Posting[]): Posting {
  let smallest: Posting | undefined;
  for (const posting of must) {
    if (smallest === undefined || posting.count < smallest.count) smallest = posting;
  }
  if (smallest === undefined) throw new Error('A selection needs a set to choose from');
  return smallest;
}

export function passes(tests: Selection['tests'], id: number): boolean {
  for (let at = 0; at < tests.length; at += 1) {
    if (tests[at]?.(id) === false) return false;
  }
  return true;
}

/** Whether one id is in the selection. */
export function isMatch({ must, mustNot, tests }: Selection, id: number): boolean {
  for (const posting of must) if (levelOf(posting, id) === 0) return false;
  for (const posting of mustNot) if (levelOf(posting, id) !== 0) return false;
  return passes(tests, id);
}
