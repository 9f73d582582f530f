import { defineConfig } from 'vitest/config';
import { SUITE_DEFAULTS } from '../support/suite-defaults.ts';

/** Attacks by strangers against a running market, with honest clients at the same time. Run by the build server. */
export default defineConfig({
  test: {
    ...SUITE_DEFAULTS,
    name: 'hostile',
    include: ['test/hostile/**/*.hostile.ts'],
    globalSetup: 'test/support/global-setup.ts',
    maxWorkers: 2,
    // Modules are loaded once a worker: no module of ours keeps anything between files, and loading was a third of the time.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
