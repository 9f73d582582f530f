import { defineConfig } from 'vitest/config';

/** What takes long: whole processes that are started and killed, every fault, the demonstration, long walks. Run beside the quick suite by the build server. */
export default defineConfig({
  test: {
    include: ['test/**/*.heavy.ts', 'src/**/*.heavy.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    retry: 0,
  },
});
