const LONGEST_NAME = 60;
/** Whatever has no look of its own, and so could make a name look like another one. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** What a program calls itself, fit to be looked at: a stranger's text. Null: it has no name that could be shown. */
export function showName(name: string | null): string | null {
  const seen = (name ?? '').replaceAll(UNSEEN, ' ').replaceAll(/\s+/g, ' ').trim();
  if (seen === '') return null;
  const letters = [...seen];
  return letters.length <= LONGEST_NAME ? seen : `${letters.slice(0, LONGEST_NAME).join('')}…`;
}
