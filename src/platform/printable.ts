/** Control, direction and invisible characters. In a terminal they move the cursor, reverse text or start a line. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/** Longer texts of other programs are cut. */
const MAX_LENGTH = 2_000;

/** Makes one safe line for a report that quotes a provider, a city or a file. Invisible characters appear as their code. */
export function printableLine(text: string): string {
  return text.slice(0, MAX_LENGTH).replace(INVISIBLE, (match) => `\\u{${(match.codePointAt(0) ?? 0).toString(16)}}`);
}

export function printableLines(text: string): string {
  return text.split('\n').map(printableLine).join('\n');
}

/** Prints JSON on one line with invisible characters escaped. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(INVISIBLE, (match) =>
    Array.from({ length: match.length }, (_, at) => `\\u${match.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
      '',
    ),
  );
}
