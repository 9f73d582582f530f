/** What the configurations of all suites say alike. */
export const SUITE_DEFAULTS = {
  // A retry would hide a race.
  retry: 0,
  // What is awaited ends the wait as soon as it is there. On a busy machine that may take longer than the second Vitest allows.
  expect: { poll: { timeout: 10_000 } },
} as const;
