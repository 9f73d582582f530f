import type { Fingerprint } from '../../src/market/listings/near/fingerprint.ts';
import { readLicences } from '../../test/licences/make-licence-texts.ts';
import { fingerprintOfText, jaccard, NEAR, wouldRefuse } from './likeness.ts';
import type { Texts } from './texts.ts';

/** Outcome for pairs of one kind: refusals by the market, and true likeness. */
export interface KindOutcome {
  kind: string;
  /** True if the second text was made from the first. */
  isCopy: boolean;
  pairs: number;
  refused: number;
  likeness: number;
  /** Pairs whose true likeness is at least 0.9, and pairs below. */
  near: { pairs: number; refused: number };
  apart: { pairs: number; refused: number };
}

const SHARES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.4];
const PAIRS = 1_000;
/** Number of texts that are all compared with one another, which gives many more pairs. */
const UNRELATED_TEXTS = 1_500;

interface Pair {
  one: readonly string[];
  other: readonly string[];
  /** The text as formatted, if it is not the words joined by spaces. */
  oneText?: string;
  text?: string;
}

export function measureLikeness(texts: Texts, tell: (line: string) => void): KindOutcome[] {
  const outcomes: KindOutcome[] = [];
  const measure = (kind: string, isCopy: boolean, pair: (name: string) => Pair): void => {
    outcomes.push(measureKind(kind, isCopy, pair));
    tell(`${kind}: done`);
  };
  for (const inBlock of [false, true]) {
    for (const share of SHARES) {
      const kind = `${share * 100} % of the words ${inBlock ? 'in one place' : 'here and there'}`;
      measure(kind, true, (name) => {
        const one = texts.fresh(name);
        return { one, other: texts.edited(one, { share, inBlock }, name) };
      });
    }
  }
  measure('set otherwise: case, blank space, punctuation', true, (name) => {
    const one = texts.fresh(name);
    return { one, other: one, text: `"${one.join('",\n\t"').toUpperCase()}";` };
  });
  measure('5 % more at the end', true, (name) => withMore(texts, name, 0.05));
  measure('20 % more at the end', true, (name) => withMore(texts, name, 0.2));
  measure('its two halves exchanged', true, (name) => {
    const one = texts.fresh(name);
    const half = Math.floor(one.length / 2);
    return { one, other: [...one.slice(half), ...one.slice(0, half)] };
  });
  const sibling = (of: 'family' | 'crowd') => (name: string) => ({
    one: texts.sibling(of, name),
    // The name selects the family. The sibling is another member of it.
    other: texts.edited(texts.sibling(of, name), { share: of === 'crowd' ? 0.15 : 0.25, inBlock: true }, `${name} too`),
  });
  for (const licence of BENCHED) {
    measure(`two works behind ${licence}`, false, (name) =>
      pairBehind([licence, licence], texts.fresh(name), texts.fresh(`${name}, another`)),
    );
    measure(`${licence} alone, and a work behind it`, false, (name) =>
      pairBehind([licence, licence], [], texts.fresh(name)),
    );
    measure(`a copy behind ${licence}`, true, (name) => {
      const one = texts.fresh(name);
      return pairBehind([null, licence], one, one);
    });
    measure(`1 % in one place, ${licence} for MIT`, true, (name) => {
      const one = texts.fresh(name);
      return pairBehind(['MIT', licence], one, texts.edited(one, { share: 0.01, inBlock: true }, name));
    });
  }
  measure('two that fill in one form, a quarter of it', false, sibling('family'));
  measure('two that fill in one form, a seventh of it', false, sibling('crowd'));
  outcomes.push(measureUnrelated(texts));
  return outcomes;
}

/** Licences that are shorter than the text, as long, and many times as long. */
const BENCHED = ['BSD-3-Clause', 'Apache-2.0', 'GPL-3.0-only'] as const;

function licenceWords(name: string): string[] {
  return (readLicences()[name]?.licenseText ?? '').split(/[^\p{L}\p{M}\p{N}_]+/u).filter((word) => word !== '');
}

/** Makes a pair of works, each with or without a licence in front. The likeness of the licences must not count. */
function pairBehind(licences: readonly (string | null)[], one: readonly string[], other: readonly string[]): Pair {
  const [first, second] = licences.map((name) => (name === null ? [] : licenceWords(name)));
  const text = [...(second ?? []), ...other].join(' ');
  return { one, other, oneText: [...(first ?? []), ...one].join(' '), text };
}

function withMore(texts: Texts, name: string, share: number): Pair {
  const one = texts.fresh(name);
  const more = texts.fresh(`${name}, more`).slice(0, Math.round(one.length * share));
  return { one, other: [...one, ...more] };
}

function measureKind(kind: string, isCopy: boolean, pair: (name: string) => Pair): KindOutcome {
  const outcome = emptyOutcome(kind, isCopy);
  for (let n = 0; n < PAIRS; n += 1) {
    const { one, other, oneText, text } = pair(`${kind} ${n}`);
    const refused = wouldRefuse(
      fingerprintOfText(oneText ?? one.join(' ')),
      fingerprintOfText(text ?? other.join(' ')),
    );
    countPair(outcome, jaccard(one, other), refused);
  }
  outcome.likeness /= outcome.pairs;
  return outcome;
}

function measureUnrelated(texts: Texts): KindOutcome {
  const outcome = emptyOutcome('two that have nothing to do with each other', false);
  const all: { words: string[]; shape: Fingerprint | null }[] = Array.from({ length: UNRELATED_TEXTS }, (_, n) => {
    const words = texts.fresh(`unrelated ${n}`);
    return { words, shape: fingerprintOfText(words.join(' ')) };
  });
  for (const [at, one] of all.entries()) {
    for (const other of all.slice(at + 1)) {
      // Unrelated texts share almost no run of five words, so compute the true likeness only for refusals.
      const refused = wouldRefuse(one.shape, other.shape);
      countPair(outcome, refused ? jaccard(one.words, other.words) : 0, refused);
    }
  }
  outcome.likeness /= outcome.pairs;
  return outcome;
}

function emptyOutcome(kind: string, isCopy: boolean): KindOutcome {
  const none = { pairs: 0, refused: 0 };
  return { kind, isCopy, ...none, likeness: 0, near: { ...none }, apart: { ...none } };
}

function countPair(outcome: KindOutcome, likeness: number, refused: boolean): void {
  const side = likeness >= NEAR ? outcome.near : outcome.apart;
  for (const sum of [outcome, side]) {
    sum.pairs += 1;
    sum.refused += refused ? 1 : 0;
  }
  outcome.likeness += likeness;
}
