/** Unchanged text of a market or city. It is data, never instructions, and is always shown apart from our own text. */
export interface MarketWords {
  /** A reason that this version doesn't know. */
  reason?: string;
  title?: string;
  detail?: string;
  next_step?: string;
  errors?: readonly { path: string; message: string }[];
}

/** Characters that control a terminal, reverse text or are invisible. Excludes line breaks and tabs, which the printing code handles. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]|\u034f|\u17b4|\u17b5/gu;

/** Escapes invisible characters, for example as `\u{1b}`. */
export function escapeInvisible(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

export function removeInvisible(text: string): string {
  return text.replace(UNSEEN, '');
}

/** Escapes invisible characters in JSON text, which still parses to the same value. */
export function escapedJson(json: string): string {
  return json.replace(UNSEEN, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** Shortens others' text to one line of at most `longest` characters. */
export function oneLine(text: string, longest = 100): string {
  // Limits the work. The rest would be cut off anyway, unless this part is almost only white space.
  const line = escapeInvisible(
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

/** Quotes others' text as one line inside our sentence. The text cannot contain a closing mark. */
export function inQuotes(text: string, longest = 80): string {
  return `“${oneLine(text.replaceAll(MARKS, "'"), longest)}”`;
}
