import { defineConfig } from 'vitest/config';

/** `npm run test:deep`: the same as the tests, many times over, for as long as it takes. */
export default defineConfig({
  test: {
    include: ['test/**/*.deep.ts'],
    globalSetup: 'test/support/global-setup.ts',
    maxWorkers: 2,
    testTimeout: 24 * 3_600_000,
    hookTimeout: 60_000,
    retry: 0,
  },
});
