import { defineConfig } from 'vitest/config';

/** `npm run test:browser`: the pages in a real browser, over a real market and database. With OPENAISLE_SHOTS=1 screenshots go to test/browser/shots. */
export default defineConfig({
  test: {
    name: 'browser',
    include: ['test/browser/**/*.browser.ts'],
    globalSetup: 'test/support/global-setup.ts',
    maxWorkers: 2,
    testTimeout: 300_000,
    hookTimeout: 180_000,
    retry: 0,
  },
});
