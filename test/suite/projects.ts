import type { TestProjectInlineConfiguration } from 'vitest/config';

type Project = NonNullable<TestProjectInlineConfiguration['test']> & { name: string };

/**
 * The suites, in the order in which the pool runs them. The files of a suite stay together, because a worker that changes suites must load
 * its modules again. The quick suite is last, because its short files keep both workers busy to the end.
 */
export const PROJECTS: readonly Project[] = [
  {
    // Attacks by strangers against a running market that serves honest clients at the same time.
    name: 'hostile',
    include: ['test/hostile/**/*.hostile.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
  {
    // Each recipe of CONTRIBUTING, carried out in a copy of the checkout.
    name: 'recipes',
    include: ['test/recipes/*.recipe.ts'],
    globalSetup: ['test/recipes/make-base.ts'],
    testTimeout: 240_000,
    hookTimeout: 120_000,
  },
  {
    // The pages in Chromium. OPENAISLE_SHOTS=1 writes screenshots to test/browser/shots.
    name: 'browser',
    include: ['test/browser/**/*.browser.ts'],
    globalSetup: ['test/browser/global-setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 180_000,
  },
  {
    // Slow tests: processes that are started and killed, every fault, the demonstration, and random runs.
    name: 'heavy',
    include: ['test/**/*.heavy.ts', 'src/**/*.heavy.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
  {
    name: 'quick',
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/*.heavy.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
];
