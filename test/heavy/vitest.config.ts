import { defineConfig } from 'vitest/config';
import { SUITE_DEFAULTS } from '../support/suite-defaults.ts';

/** What takes long: whole processes that are started and killed, every fault, the demonstration, long walks. The build server runs it next to the quick suite. */
export default defineConfig({
  test: {
    ...SUITE_DEFAULTS,
    name: 'heavy',
    include: ['test/**/*.heavy.ts', 'src/**/*.heavy.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    maxWorkers: 2,
    // Modules are loaded once a worker: no module of ours keeps anything between files, and loading was a third of the time.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
