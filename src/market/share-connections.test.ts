import { expect, test } from 'vitest';
import { shareConnections } from './start.ts';

test('each process has up to 16 connections, and all together never more than four fifths of what the server takes', () => {
  expect([2, 4, 5, 8, 16, 25].map((workers) => shareConnections(workers, 97))).toEqual([16, 16, 14, 8, 3, 2]);
  for (let workers = 2; workers <= 25; workers += 1) {
    expect(workers * (shareConnections(workers, 97) + 1)).toBeLessThanOrEqual(97 * 0.8);
  }
  expect(shareConnections(64, 300)).toBe(2);
});

test('more processes than the server has connections for is a fault of the configuration, with the number that it takes', () => {
  expect(() => shareConnections(26, 97)).toThrow('OPENAISLE_WORKERS must be lower');
  expect(() => shareConnections(64, 97)).toThrow('need 240 connections, and the server allows 97');
  expect(shareConnections(64, 240)).toBe(2);
});
