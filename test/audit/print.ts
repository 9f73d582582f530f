/** Matches control characters, bidirectional marks, invisible characters, unusual spaces, and combining marks piled on one letter. */
const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}|(?<=\p{M}{3})\p{M}/gu;

/** Length limit of a line, in characters before escaping. */
const LINE = 1_000;

/**
 * Returns one safe line for people. All output of an audit goes through here: characters that would move the cursor, change the direction
 * or end the line become escapes. Cuts before escaping, so that the work is bounded.
 */
export function lineOf(text: string, most = LINE): string {
  const cut = text.length > most ? `${text.slice(0, most - 1)}\u2026` : text;
  return cut.replace(UNSEEN, (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Returns one line of JSON with nothing lost: invisible characters become escapes. */
export function jsonLineOf(value: unknown): string {
  return JSON.stringify(value).replace(UNSEEN, (found) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
      '',
    ),
  );
}

/** Quotes a foreign value in a sentence, cut to a bounded length. */
export function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  return lineOf(typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : String(value), 80);
}
