const LONGEST_NAME = 60;
/** Whatever has no look of its own, the blank of braille too, and so could make a name look like another one. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** A letter with more marks than any alphabet puts on one: they would be drawn over what stands around. */
const PILED = /(\p{M}{2})\p{M}+/gu;
/** Alphabets with letters that look like Latin ones. */
const LOOKALIKE =
  /[\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Lisu}]/u;

/** What a program calls itself, fit to be looked at: a stranger's text. Null: it has no name that could be shown. */
export function showName(name: string | null): string | null {
  const seen = (name ?? '')
    .normalize('NFKC')
    .replaceAll(UNSEEN, ' ')
    .replaceAll(PILED, '$1')
    .replaceAll(/\s+/g, ' ')
    .trim();
  if (seen === '') return null;
  const letters = [...seen];
  return letters.length <= LONGEST_NAME ? seen : `${letters.slice(0, LONGEST_NAME).join('')}…`;
}

/** Whether a name that is shown could be taken for another one, because of its letters. */
export function mayMislead(name: string): boolean {
  return LOOKALIKE.test(name);
}
