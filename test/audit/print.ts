/** Controls, marks of direction, marks that show nothing, blanks other than the plain one, and marks piled on one letter. */
const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}|(?<=\p{M}{3})\p{M}/gu;

/** No line is longer, in characters before they are shown as their codes. */
const LINE = 1_000;

/**
 * One line for people, whoever wrote it. Everything that an audit prints goes through here: what would move a cursor, turn the direction
 * or end the line is shown as its code. Cut first, so that the work is bounded.
 */
export function lineOf(text: string, most = LINE): string {
  const cut = text.length > most ? `${text.slice(0, most - 1)}\u2026` : text;
  return cut.replace(UNSEEN, (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`);
}

/** One line of JSON with nothing lost: what people cannot see stands as its escape. */
export function jsonLineOf(value: unknown): string {
  return JSON.stringify(value).replace(UNSEEN, (found) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
      '',
    ),
  );
}

/** A value of another's as part of a sentence: what it is, and no more of it than fits. */
export function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  return lineOf(typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : String(value), 80);
}
