/** One change to one file of the money core. */
export interface Edit {
  /** Relative to the root of the checkout. */
  file: string;
  /** Must occur exactly once. */
  find: string;
  put: string;
}

/** A plausible bug, and the tests that have to notice it. */
export interface Sabotage {
  name: string;
  /** Several edits where another line depends on the first or enforces the same promise. */
  edits: readonly Edit[];
  tests: readonly string[];
}

/** Tests over a whole market, by name. */
export function world(...names: string[]): string[] {
  return names.map((name) => `test/world/${name}.test.ts`);
}

/** Returns the text with the bug, or null if the text to replace does not occur exactly once. */
export function withBug(text: string, { find, put }: Edit): string | null {
  const at = text.indexOf(find);
  if (at === -1 || text.includes(find, at + 1)) return null;
  return text.slice(0, at) + put + text.slice(at + find.length);
}
