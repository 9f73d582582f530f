import { defineConfig } from 'vitest/config';

/** Strangers without money or key against running servers, with honest clients at the same time. Run by the build server. */
export default defineConfig({
  test: {
    include: ['test/hostile/**/*.hostile.ts'],
    globalSetup: 'test/support/global-setup.ts',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    retry: 0,
  },
});
