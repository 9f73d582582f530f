import { expect, test } from 'vitest';
import { compareLog } from './watch-history.ts';

const hash = Buffer.alloc(32, 1);
const copy = { id: 10n, hash };
const log = { inRecovery: false, newestId: 10n, hash, leftOut: false, lostId: null };

test.each([
  ['the log ends with the same event', {}, 'same'],
  ['it goes on', { newestId: 20n }, 'same'],
  ['it ends earlier', { newestId: 9n, hash: null }, 'lost'],
  ['it is empty', { newestId: 0n, hash: null }, 'lost'],
  ['it holds another event under that id', { newestId: 20n, hash: Buffer.alloc(32, 2) }, 'lost'],
  ['it goes on and has no event with that id', { newestId: 20n, hash: null }, 'lost'],
  ['a recovery has left that id out', { newestId: 2_000n, hash: null, leftOut: true }, 'same'],
  ['the server is in recovery and ends earlier', { inRecovery: true, newestId: 9n, hash: null }, 'unknown'],
] as const)('%s', (_what, changed, expected) => {
  expect(compareLog(copy, { ...log, ...changed })).toBe(expected);
});

test('without a copy nothing is known', () => {
  expect(compareLog(null, { ...log, newestId: 0n, hash: null })).toBe('unknown');
});
