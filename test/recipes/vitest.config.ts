import { defineConfig } from 'vitest/config';
import { SUITE_DEFAULTS } from '../support/suite-defaults.ts';

/** The recipes of CONTRIBUTING, each carried out in a copy of the checkout. They stand apart from the other tests: what they run are those. */
export default defineConfig({
  test: {
    ...SUITE_DEFAULTS,
    include: ['test/recipes/*.recipe.ts'],
    globalSetup: ['test/support/global-setup.ts', 'test/recipes/make-base.ts'],
    maxWorkers: 2,
    testTimeout: 240_000,
    hookTimeout: 120_000,
  },
});
