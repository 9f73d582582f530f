import { expect, it } from 'vitest';
import { systemRandom } from '../../../platform/random.ts';
import { requestedCodes } from './fields.ts';

it('asks for two different codes of eight, the same ones for the whole of a stage, and sooner or later for each', () => {
  const seen = new Set<number>();
  for (let round = 0; round < 500; round += 1) {
    const identity = { session: systemRandom.bytes(32).toString('base64url'), csrf: '' };
    const [first, second] = requestedCodes(identity, 8).map(({ number }) => number);
    expect(first).toBeGreaterThanOrEqual(1);
    expect(second).toBeGreaterThan(first ?? 8);
    expect(second).toBeLessThanOrEqual(8);
    expect(requestedCodes(identity, 8).map(({ number }) => number)).toEqual([first, second]);
    for (const number of [first, second]) if (number !== undefined) seen.add(number);
  }
  expect(seen.size).toBe(8);
});
