import { defineConfig } from 'vitest/config';
import { SUITE_DEFAULTS } from '../support/suite-defaults.ts';

/** `npm run test:browser`: the pages in a real browser, over a real market and database. With OPENAISLE_SHOTS=1 screenshots go to test/browser/shots. */
export default defineConfig({
  test: {
    ...SUITE_DEFAULTS,
    name: 'browser',
    include: ['test/browser/**/*.browser.ts'],
    globalSetup: 'test/browser/global-setup.ts',
    // A browser's test waits more than it computes: three share two cores.
    maxWorkers: 3,
    // Modules are loaded once a worker: no module of ours keeps anything between files.
    isolate: false,
    testTimeout: 300_000,
    hookTimeout: 180_000,
  },
});
