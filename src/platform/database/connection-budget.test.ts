import { expect, test } from 'vitest';
import { shareBudget } from './connection.ts';

const share = (connections: number, processes: number, room: number): number =>
  shareBudget({ variable: 'CONNECTIONS', connections, processes, forWhat: 'with three workers' }, room);

test('of a budget every process has the same, with the one that holds locks, and a successor too', () => {
  expect([12, 13, 16, 20, 68, 97].map((budget) => share(budget, 3, 97))).toEqual([2, 2, 3, 4, 16, 16]);
  expect(share(6, 1, 97)).toBe(2);
  for (let workers = 1; workers <= 20; workers += 1) {
    for (let budget = 3 * (workers + 1); budget <= 97; budget += 1)
      expect((share(budget, workers, 97) + 1) * (workers + 1)).toBeLessThanOrEqual(budget);
  }
});

test('a budget that is too small for the processes, or larger than the server, is a fault of the configuration, with the number that would do', () => {
  expect(() => share(11, 3, 97)).toThrow('CONNECTIONS must be at least 12 with three workers');
  expect(() => share(28, 3, 27)).toThrow('CONNECTIONS must be at most 27');
  expect(share(27, 3, 27)).toBe(5);
});
