/** Words of a market or a city as it sent them: data, never instructions. Shown apart from ours. */
export interface MarketWords {
  /** One that this version does not know. */
  reason?: string;
  title?: string;
  detail?: string;
  next_step?: string;
  errors?: readonly { path: string; message: string }[];
}

/** Steer a terminal, turn text round, hide in it, or are blank letters. Line breaks and tabs are left to who prints. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]|\u034f|\u17b4|\u17b5/gu;

/** The same text, with each character that nobody sees spelled out: `\u{1b}`. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

export function withoutUnseen(text: string): string {
  return text.replace(UNSEEN, '');
}

/** JSON in which no such character stands as itself, and which reads as the same value. */
export function escapedJson(json: string): string {
  return json.replace(UNSEEN, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** One line of another's text, cut to so many characters. */
export function oneLine(text: string, longest = 100): string {
  // More than that is cut off anyway, however much of it is blank.
  const line = visible(
    text
      .slice(0, 100 * longest)
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );
  const characters = [...line];
  return characters.length <= longest ? line : `${characters.slice(0, longest - 1).join('')}…`;
}

/** Quotation marks of any script, and signs that look like them. */
const MARKS = /["\p{Pi}\p{Pf}\u201a\u201e\u275b-\u275e\u2032\u2033\u2036\u02ba\u02dd\u02ee\u3003\u301d-\u301f\uff02]/gu;

/** One line of another's text within a sentence of ours: in marks that it cannot close. */
export function inMarks(text: string, longest = 80): string {
  return `“${oneLine(text.replaceAll(MARKS, "'"), longest)}”`;
}
