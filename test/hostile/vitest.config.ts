import { defineConfig } from 'vitest/config';

/** Attacks on running servers, with honest clients at the same time. Figures are counts, so that a slow machine changes none of them. */
export default defineConfig({
  test: {
    include: ['test/hostile/**/*.hostile.ts'],
    globalSetup: 'test/support/global-setup.ts',
    maxWorkers: 1,
    testTimeout: 90_000,
    hookTimeout: 120_000,
    retry: 0,
  },
});
