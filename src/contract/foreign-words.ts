/** Text of a market or city, unchanged: data, never instructions. It is always shown apart from our own text. */
export interface MarketWords {
  /** A reason that this version does not know. */
  reason?: string;
  title?: string;
  detail?: string;
  next_step?: string;
  errors?: readonly { path: string; message: string }[];
}

/** Characters that steer a terminal, reverse text or are invisible. Line breaks and tabs are left to the printing code. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]|\u034f|\u17b4|\u17b5/gu;

/** Spells out invisible characters, as `\u{1b}`. */
export function escapeUnseen(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

export function withoutUnseen(text: string): string {
  return text.replace(UNSEEN, '');
}

/** Escapes invisible characters in JSON; it still parses to the same value. */
export function escapedJson(json: string): string {
  return json.replace(UNSEEN, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** Cuts others' text to one line of at most `longest` characters. */
export function oneLine(text: string, longest = 100): string {
  // Bounds the work: the rest would be cut off anyway.
  const line = escapeUnseen(
    text
      .slice(0, 100 * longest)
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );
  const characters = [...line];
  return characters.length <= longest ? line : `${characters.slice(0, longest - 1).join('')}…`;
}

/** Quotation marks of every script, and characters that look like them. */
const MARKS = /["\p{Pi}\p{Pf}\u201a\u201e\u275b-\u275e\u2032\u2033\u2036\u02ba\u02dd\u02ee\u3003\u301d-\u301f\uff02]/gu;

/** Quotes one line of others' text inside our sentence, in marks that the text cannot close. */
export function inMarks(text: string, longest = 80): string {
  return `“${oneLine(text.replaceAll(MARKS, "'"), longest)}”`;
}
