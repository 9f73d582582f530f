import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    name: 'quick',
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/*.heavy.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    // One more than the two cores: a file often waits for a database or a chain.
    maxWorkers: 3,
    // Modules are loaded once a worker: no module of ours keeps anything between files, and loading was a third of the time.
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // A retry would hide a race.
    retry: 0,
  },
});
