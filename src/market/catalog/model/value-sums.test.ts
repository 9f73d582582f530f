import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createValueSums, moveValue, sumFrom } from './sorts.ts';

const value = fc.oneof(fc.nat(12), fc.integer({ min: 65_530, max: 65_545 }), fc.nat(200_000));

it('sums what is at least so high, as adding up all values does', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(7), value)), fc.nat(65_536), (rises, least) => {
      const sums = createValueSums();
      const values = new Map<number, number>();
      for (const [id, to] of rises) {
        moveValue(sums, values.get(id) ?? 0, to);
        values.set(id, to);
      }
      const high = [...values.values()].filter((one) => one >= least);
      expect(sumFrom(sums, least)).toBe(high.reduce((sum, one) => sum + one, 0));
    }),
  );
});

it('rises with each rise that ends at the bound or above, wherever the bound is, and with no other', () => {
  fc.assert(
    fc.property(value, fc.integer({ min: 1, max: 9 }), fc.nat(200_010), (before, more, least) => {
      const sums = createValueSums();
      moveValue(sums, 0, before);
      const was = sumFrom(sums, least);
      moveValue(sums, before, before + more);
      if (before + more >= least) expect(sumFrom(sums, least)).toBeGreaterThan(was);
      else if (least <= 65_536) expect(sumFrom(sums, least)).toBe(was);
    }),
  );
});
