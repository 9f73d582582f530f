import { defineConfig } from 'vitest/config';

/** Heavy tests that read their counts from the environment. */
const PLAYED_LONGER = [
  'test/world/kills-*.heavy.ts',
  'test/world/{reorgs,two-providers-flips,faults-rpc,identity-races,identity-codes,life-races}.heavy.ts',
  'test/history/synchronous.heavy.ts',
  'src/facilitator/kill-points.heavy.test.ts',
  'src/cli/kills.heavy.test.ts',
];
const ROUNDS = Object.fromEntries(
  Object.entries({
    OPENAISLE_KILLS: '10',
    OPENAISLE_AGENT_KILLS: '100',
    OPENAISLE_REORGS: '500',
    OPENAISLE_FLIPS: '5000',
    OPENAISLE_CONFIRM_ROUNDS: '500',
    OPENAISLE_WRONG_CODES: '100000',
    OPENAISLE_RACES: '500',
    OPENAISLE_FAULT_MOMENTS: 'all',
  }).map(([name, usual]) => [name, process.env[name] ?? usual]),
);

/** `npm run test:deep` repeats the tests many times and runs as long as it needs. */
export default defineConfig({
  test: {
    retry: 0,
    expect: { poll: { timeout: 10_000 } },
    name: 'deep',
    include: ['test/**/*.deep.ts', ...PLAYED_LONGER],
    env: ROUNDS,
    globalSetup: 'test/support/global-setup.ts',
    maxWorkers: 2,
    testTimeout: 24 * 3_600_000,
    hookTimeout: 60_000,
  },
});
