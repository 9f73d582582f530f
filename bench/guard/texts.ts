import { createZipf, type Dice, diceFor } from '../catalog/dice.ts';
import { makeVocabulary } from '../catalog/vocabulary.ts';

/** Artifacts by number, as words. A seed always gives the same artifacts. */
export interface Texts {
  /** Returns the artifact of a listing. Some belong to a family, whose members fill in the same form. */
  ofListing(id: number): string[];
  /** Returns a text unrelated to all others. */
  fresh(name: string): string[];
  /** Returns another member of a family of twenty, or of the large family. */
  sibling(of: 'family' | 'crowd', name: string): string[];
  /** Replaces a share of the words, scattered or in one block. */
  edited(words: readonly string[], edit: { share: number; inBlock: boolean }, name: string): string[];
}

const MIN_WORDS = 150;
const MAX_WORDS = 400;

/** One listing in four fills in a form that twenty share, and one in a hundred fills in the form of the crowd. */
const FAMILY_EVERY = 4;
const FAMILY_SIZE = 20;
const CROWD_EVERY = 100;

interface Form {
  name: string;
  /** Number of gaps that members fill in, and their share of the text. */
  gaps: number;
  open: number;
}

export function createTexts(seed: number, listings: number): Texts {
  const { words } = makeVocabulary(seed);
  let dice: Dice = diceFor(seed, 'start');
  // Build the distribution's tables once. Each text swaps in its own dice.
  const drawRank = createZipf(words.length, { ...dice, int: (below) => dice.int(below), share: () => dice.share() });
  const word = (): string => words[drawRank()] ?? '';
  const some = (name: string): string[] => {
    dice = diceFor(seed, name);
    return Array.from({ length: MIN_WORDS + dice.int(MAX_WORDS - MIN_WORDS + 1) }, word);
  };
  const filledIn = ({ name, gaps, open }: Form, member: string): string[] => {
    const form = some(name);
    dice = diceFor(seed, member);
    const length = Math.round((form.length * open) / gaps);
    const step = Math.floor(form.length / gaps);
    return form.map((fixed, at) => (at % step < length && at < step * gaps ? word() : fixed));
  };
  const crowd: Form = { name: 'the crowd', gaps: 3, open: 0.15 };
  const family = (number: number): Form => ({ name: `family ${number}`, gaps: 5, open: 0.25 });
  const families = Math.max(1, Math.floor(listings / FAMILY_EVERY / FAMILY_SIZE));
  return {
    ofListing: (id) => {
      if (id % CROWD_EVERY === 0) return filledIn(crowd, `listing ${id}`);
      if (id % FAMILY_EVERY === 1) return filledIn(family(Math.floor(id / FAMILY_EVERY) % families), `listing ${id}`);
      return some(`listing ${id}`);
    },
    fresh: (name) => some(`fresh ${name}`),
    sibling: (of, name) => {
      dice = diceFor(seed, `which ${name}`);
      return filledIn(of === 'crowd' ? crowd : family(dice.int(families)), `sibling ${name}`);
    },
    edited: (given, { share, inBlock }, name) => {
      dice = diceFor(seed, `edit ${name}`);
      const count = Math.max(1, Math.round(given.length * share));
      const from = dice.int(given.length - count + 1);
      const chosen = new Set<number>();
      while (chosen.size < count) chosen.add(inBlock ? from + chosen.size : dice.int(given.length));
      return given.map((one, at) => (chosen.has(at) ? otherThan(one, word) : one));
    },
  };
}

function otherThan(one: string, word: () => string): string {
  for (;;) {
    const other = word();
    if (other !== one) return other;
  }
}
