/** One change to one text of the money core. */
export interface Edit {
  /** From the root of the checkout. */
  file: string;
  /** Occurs there exactly once. */
  find: string;
  put: string;
}

/** A bug that somebody might write, and the tests that have to notice it. */
export interface Sabotage {
  name: string;
  /** One, or more where another line leans on the first or holds the same promise a second time. */
  edits: readonly Edit[];
  tests: readonly string[];
}

/** The tests over a whole market, by their names. */
export function world(...names: string[]): string[] {
  return names.map((name) => `test/world/${name}.test.ts`);
}

/** The text with the bug in it; null when what is to be replaced is not there exactly once. */
export function withBug(text: string, { find, put }: Edit): string | null {
  const at = text.indexOf(find);
  if (at === -1 || text.includes(find, at + 1)) return null;
  return text.slice(0, at) + put + text.slice(at + find.length);
}
