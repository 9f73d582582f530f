import { expect, it } from 'vitest';
import { z } from 'zod';
import { refuseIssues } from './failure.ts';

it('names at most 20 places, and says how many there are', () => {
  const given = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`f${index}`, 1]));
  const unknown = z.strictObject({}).safeParse(given);
  const wrong = z.record(z.string(), z.string()).safeParse(given);
  for (const { error } of [unknown, wrong]) {
    const { options } = refuseIssues(error?.issues ?? [], 'invalid_fields');
    expect(options.errors).toHaveLength(20);
    expect(options.detail).toContain('There are 50 in all');
  }
  const few = refuseIssues(z.strictObject({}).safeParse({ a: 1 }).error?.issues ?? [], 'invalid_fields');
  expect(few.options.detail).toBe('Not known here: a.');
});
