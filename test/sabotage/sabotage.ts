export interface Edit {
  /** Path relative to the root of the checkout. */
  file: string;
  /** Text to replace, which must occur exactly once. */
  find: string;
  put: string;
}

/** A plausible bug, and the tests that must notice it. */
export interface Sabotage {
  name: string;
  /** Edits that make the bug. There are several if another line depends on the first or enforces the same promise. */
  edits: readonly Edit[];
  tests: readonly string[];
}

/** Returns paths of tests in test/world by name. */
export function world(...names: string[]): string[] {
  return names.map((name) => `test/world/${name}.test.ts`);
}

/** Returns the text with the bug. Null unless the text to replace occurs exactly once. */
export function withBug(text: string, { find, put }: Edit): string | null {
  const at = text.indexOf(find);
  if (at === -1 || text.includes(find, at + 1)) return null;
  return text.slice(0, at) + put + text.slice(at + find.length);
}
