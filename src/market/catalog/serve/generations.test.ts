import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createGenerations } from './generations.ts';

const act = fc.oneof(
  { weight: 4, arbitrary: fc.record({ put: fc.nat(20), size: fc.integer({ min: 1, max: 60 }) }) },
  { weight: 3, arbitrary: fc.record({ get: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ room: fc.integer({ min: 0, max: 400 }) }) },
);

it('counts what is there, within the room, and forgets each value that leaves by itself once', () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 200 }), (acts) => {
      let most = 200;
      const there = new Map<number, { key: number; size: number }>();
      const generations = createGenerations<number, { key: number; size: number }>({
        mostBytes: () => most,
        sizeOf: (_, { size }) => size,
        forget: (value) => {
          expect(there.get(value.key)).toBe(value);
          there.delete(value.key);
        },
      });
      for (const one of acts) {
        if ('get' in one) expect(generations.get(one.get)).toBe(there.get(one.get));
        if ('room' in one) {
          most = one.room;
          generations.trim();
        }
        if ('put' in one) {
          const value = { key: one.put, size: one.size };
          generations.put(one.put, value);
          there.set(one.put, value);
        }
        const sum = [...there.values()].reduce((total, { size }) => total + size, 0);
        expect(generations.bytes()).toBe(sum);
        // One that is larger than the room is the only one.
        if (!('get' in one)) expect(sum <= most || there.size === 1).toBe(true);
      }
      for (const key of there.keys()) {
        generations.delete(key);
        there.delete(key);
        break;
      }
      generations.clear();
      expect([there.size, generations.bytes()]).toEqual([0, 0]);
    }),
  );
});

it('what is used stays while others come and go', () => {
  const generations = createGenerations<string, string>({ mostBytes: () => 100, sizeOf: () => 10, forget: () => {} });
  for (let at = 0; at < 100; at += 1) {
    if (at % 2 === 0) generations.put('used', 'used');
    generations.put(`passing ${at}`, '');
    expect(generations.get('used')).toBe('used');
  }
});
