import { defineConfig } from 'vitest/config';
import { SUITE_DEFAULTS } from '../support/suite-defaults.ts';

/** `npm run test:stress`: a game of chance over the money core, apart from the tests because its chain can fail it, too. */
export default defineConfig({
  test: {
    ...SUITE_DEFAULTS,
    name: 'stress',
    include: ['test/stress/*.stress.ts'],
    globalSetup: 'test/support/global-setup.ts',
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
