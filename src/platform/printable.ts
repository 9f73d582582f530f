/** Controls, marks of direction and what shows nothing: they move a cursor, turn text or begin a line in somebody's terminal. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/** Longer words of another program say nothing more. */
const LONGEST = 2_000;

/** One line of a report to the operator, with what a provider, a city or a file said in it: the unseen stands as its code. */
export function printableLine(text: string): string {
  return text.slice(0, LONGEST).replace(UNSEEN, (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Several lines, each of which was made one before. */
export function printableLines(text: string): string {
  return text.split('\n').map(printableLine).join('\n');
}

/** One line of JSON, with the unseen as its escape. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(UNSEEN, (found) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
      '',
    ),
  );
}
