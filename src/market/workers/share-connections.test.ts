import { expect, test } from 'vitest';
import { shareBudget, shareConnections } from './share-connections.ts';

test('each process has up to 16 connections, and all together never more than four fifths of what the server takes', () => {
  expect([2, 4, 5, 8, 16, 25].map((workers) => shareConnections(workers, 97))).toEqual([16, 16, 14, 8, 3, 2]);
  for (let workers = 2; workers <= 25; workers += 1) {
    expect(workers * (shareConnections(workers, 97) + 1)).toBeLessThanOrEqual(97 * 0.8);
  }
  expect(shareConnections(64, 300)).toBe(2);
});

test('more processes than the server has connections for is a fault of the configuration, with the number that it takes', () => {
  expect(() => shareConnections(26, 97)).toThrow('OPENAISLE_WORKERS must be lower');
  expect(() => shareConnections(64, 97)).toThrow('need 240 connections, and it takes 97');
  expect(shareConnections(64, 240)).toBe(2);
});

test('of a budget every process has the same, with the one that holds locks, and a successor too', () => {
  expect([12, 13, 16, 20, 68, 97].map((budget) => shareBudget(budget, 3, 97))).toEqual([2, 2, 3, 4, 16, 16]);
  expect(shareBudget(6, 1, 97)).toBe(2);
  for (let workers = 1; workers <= 20; workers += 1) {
    for (let budget = 3 * (workers + 1); budget <= 97; budget += 1)
      expect((shareBudget(budget, workers, 97) + 1) * (workers + 1)).toBeLessThanOrEqual(budget);
  }
});

test('a budget that is too small for the processes, or larger than the server, is a fault of the configuration, with the number that would do', () => {
  expect(() => shareBudget(11, 3, 97)).toThrow(
    'OPENAISLE_DATABASE_CONNECTIONS must be at least 12 with OPENAISLE_WORKERS 3',
  );
  expect(() => shareBudget(28, 3, 27)).toThrow('OPENAISLE_DATABASE_CONNECTIONS must be at most 27');
  expect(shareBudget(27, 3, 27)).toBe(5);
});
