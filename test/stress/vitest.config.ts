import { defineConfig } from 'vitest/config';

/** `npm run test:stress`: a game of chance over the money core, apart from the tests because its chain can fail it, too. */
export default defineConfig({
  test: {
    name: 'stress',
    include: ['test/stress/*.stress.ts'],
    globalSetup: 'test/support/global-setup.ts',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    retry: 0,
  },
});
