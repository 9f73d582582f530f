/** Characters that cannot be seen, or that turn around the text next to them; and marks piled on one letter. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/gu;
const PILED = /(\p{M}{3})\p{M}+/gu;
/** More marks than this would be a page of nothing else. */
const MOST_MARKS = 2_000;
const REPLACEMENT = '\u{fffd}';

/** A run of text that can be seen as it is, or a character that cannot, by its name. */
export type Seen = { text: string } | { unseen: string };

/** The same text with every character that cannot be seen named in its place. Carriage returns before a line end are that line end. */
export function markUnseen(text: string): Seen[] {
  const plain = text.replaceAll('\r\n', '\n').replaceAll(PILED, '$1');
  const runs: Seen[] = [];
  let from = 0;
  let marks = 0;
  for (const match of plain.matchAll(UNSEEN)) {
    marks += 1;
    if (marks > MOST_MARKS) return [{ text: plain.replaceAll(UNSEEN, REPLACEMENT) }];
    if (match.index > from) runs.push({ text: plain.slice(from, match.index) });
    runs.push({ unseen: nameOf(match[0]) });
    from = match.index + match[0].length;
  }
  if (from < plain.length) runs.push({ text: plain.slice(from) });
  return runs;
}

/** In one line of plain text, where no element can stand. */
export function markedText(text: string): string {
  return markUnseen(text)
    .map((run) => ('text' in run ? run.text : REPLACEMENT))
    .join('')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function nameOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
