import { describe, expect, it } from 'vitest';
import { processorMs } from '../../test/support/processor-time.ts';
import { boundedText, limitCombiningMarks, MAX_MARKS, publicText } from './text.ts';

const TITLE = { min: 3, max: 120 };
/** Alternates marks of two classes, which is the worst case for normalization. */
const marks = (count: number): string => '\u0301\u0316'.repeat(count / 2);
const fault = (given: string, bounds = TITLE): string => {
  const outcome = boundedText(given, bounds);
  return 'fault' in outcome ? outcome.fault : 'taken';
};

describe('a public text', () => {
  it.each([
    ['a letter and its mark', 'e\u0301tude', '\u00e9tude'],
    ['Korean letter by letter', '\u1112\u1161\u11ab\u1100\u1173\u11af 1', '\ud55c\uae00 1'],
    ['sixteen marks', `e${'\u0323'.repeat(MAX_MARKS)}xy`, `\u1eb9${'\u0323'.repeat(MAX_MARKS - 1)}xy`],
  ])('of %s is stored normalized', (_, given, stored) => {
    expect(boundedText(given, TITLE)).toEqual({ text: stored });
  });

  it('may take four code units for each character before it is normalized', () => {
    // Omega with breathing, accent and iota: four code units make one character.
    expect(fault('\u03c9\u0314\u0342\u0345'.repeat(120))).toBe('taken');
    expect(fault('\u{1f600}'.repeat(120))).toBe('taken');
    expect(fault('\u{1f600}'.repeat(121))).toBe('must have 3 to 120 characters, has 121');
  });

  it.each([
    ['too short', 'ab', 'must have 3 to 120 characters, has 2'],
    ['a little too long', 'x'.repeat(121), 'must have 3 to 120 characters, has 121'],
    ['far too long', 'x'.repeat(481), 'must have 3 to 120 characters'],
    ['too long once it is normalized', '\u{1d160}'.repeat(60), 'must have 3 to 120 characters, has 180'],
    ['with a pile of marks', `abc${marks(18)}`, 'has more than 16 combining marks in a row'],
    ['with marks that stand for several', `abc${'\u0344'.repeat(9)}`, 'has more than 16 combining marks in a row'],
    ['with a character that hides', 'ab\u200bc', 'has a character that is not allowed, at position 2'],
    ['blank', ' \u00a0 ', 'must not be blank'],
  ])('that is %s is refused in one sentence', (_, given, expected) => {
    expect(fault(given)).toBe(expected);
  });

  it('is accepted again as it was stored', () => {
    for (const given of ['e\u0301tude', `a${marks(16)}bc`, '\u0958\u0958\u0958', `\u{1d160}${marks(14)}xx`]) {
      const outcome = boundedText(given, TITLE);
      if ('text' in outcome) expect(boundedText(outcome.text, TITLE)).toEqual(outcome);
    }
  });

  it.each([
    ['a mebibyte of marks', `abc${marks(524_288)}`],
    ['as many marks as its length allows', `abc${marks(15_000)}`],
    ['a mebibyte of letters that grow', '\u0958'.repeat(349_525)],
  ])('of %s is judged in little time', (_, given) => {
    const body = publicText(1, 4_000, { multiline: true });
    expect(processorMs(() => body.safeParse(given))).toBeLessThan(50);
  });
});

describe('limitCombiningMarks', () => {
  it('does not change accepted text, and makes normalizing any other text fast', () => {
    expect(limitCombiningMarks(`e${marks(16)} ${marks(16)}`)).toBe(`e${marks(16)} ${marks(16)}`);
    expect(limitCombiningMarks(`e${marks(500)}x`)).toBe(`e${marks(16)}x`);
    const given = `e${marks(100_000)}`;
    expect(processorMs(() => limitCombiningMarks(given).normalize('NFC'))).toBeLessThan(50);
  });
});
