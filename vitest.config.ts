import { defineConfig } from 'vitest/config';
import { SUITE_DEFAULTS } from './test/support/suite-defaults.ts';

export default defineConfig({
  test: {
    ...SUITE_DEFAULTS,
    name: 'quick',
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/*.heavy.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    // Real servers and a real chain: a file takes both cores if it is let. With three, what waits for a time limit failed now and then.
    maxWorkers: 2,
    // Modules are loaded once a worker: no module of ours keeps anything between files, and loading was a third of the time.
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
