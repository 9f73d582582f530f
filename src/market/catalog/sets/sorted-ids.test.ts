import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  blockOf,
  countUpTo,
  createSortedIds,
  fillSorted,
  indexIn,
  insertSorted,
  positionAfter,
  removeSorted,
  type SortedIds,
} from './sorted-ids.ts';

const DIRECTIONS = ['ascending', 'descending'] as const;

function walk(order: SortedIds, after: { key: number; id: number } | null, limit: number): number[] {
  const position = positionAfter(order, after);
  const ids = order.blocks.flatMap((block, at) => {
    const first = at < blockOf(position) ? order.sizes[at] : at === blockOf(position) ? indexIn(position) : 0;
    return [...block.subarray(first, order.sizes[at])];
  });
  return ids.slice(0, limit);
}

function sortedModel(keys: Map<number, number>, direction: (typeof DIRECTIONS)[number]): number[] {
  const sign = direction === 'ascending' ? 1 : -1;
  return [...keys].sort(([a, aKey], [b, bKey]) => sign * (aKey - bKey) || b - a).map(([id]) => id);
}

function createOrder(direction: (typeof DIRECTIONS)[number]): { order: SortedIds; keys: Map<number, number> } {
  const keys = new Map<number, number>();
  return { keys, order: createSortedIds((id) => keys.get(id) ?? Number.NaN, direction) };
}

function put(order: SortedIds, keys: Map<number, number>, id: number, key: number | null): void {
  if (keys.has(id)) removeSorted(order, id);
  keys.delete(id);
  if (key === null) return;
  keys.set(id, key);
  insertSorted(order, id);
}

describe('ids in the order of a key', () => {
  it('stand as a sorted array would after any changes, equal keys newest first', () => {
    const change = fc.record({
      from: fc.integer({ min: 1, max: 4000 }),
      length: fc.integer({ min: 1, max: 1500 }),
      keys: fc.constantFrom(1, 3, 1000, 1e10),
      removes: fc.boolean(),
    });
    const points = fc.array(
      fc.record({ id: fc.integer({ min: 0, max: 6000 }), key: fc.integer({ min: 0, max: 1000 }) }),
      {
        maxLength: 4,
      },
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...DIRECTIONS),
        fc.array(change, { maxLength: 7 }),
        points,
        (direction, changes, probes) => {
          const { order, keys } = createOrder(direction);
          for (const { from, length, keys: most, removes } of changes) {
            for (let id = from; id < from + length; id += 1) put(order, keys, id, removes ? null : (id * 7919) % most);
            const model = sortedModel(keys, direction);
            expect(order.count).toBe(model.length);
            expect(walk(order, null, 1e9)).toEqual(model);
            for (const point of [...probes, { id: from, key: keys.get(from) ?? 0 }]) {
              const reached = (own: number): boolean =>
                direction === 'ascending' ? own <= point.key : own >= point.key;
              const isAfter = (id: number): boolean => {
                const own = keys.get(id) ?? 0;
                return own === point.key ? id < point.id : !reached(own);
              };
              expect(walk(order, point, 5)).toEqual(model.filter(isAfter).slice(0, 5));
              expect(countUpTo(order, point.key)).toBe(model.filter((id) => reached(keys.get(id) ?? 0)).length);
            }
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  it('are the same filled in one go and inserted one by one, and take changes afterwards', () => {
    const key = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 1e10 }), fc.constant(2 ** 35 - 1));
    fc.assert(
      fc.property(fc.constantFrom(...DIRECTIONS), fc.array(key, { maxLength: 2000 }), (direction, values) => {
        const { order, keys } = createOrder(direction);
        put(order, keys, 9999, 1);
        keys.clear();
        for (const [at, value] of values.entries()) keys.set(at + 1, value);
        fillSorted(order, Uint32Array.from(keys.keys()));
        expect(walk(order, null, 1e9)).toEqual(sortedModel(keys, direction));
        put(order, keys, 5000, 4);
        put(order, keys, 1, 3);
        expect(walk(order, null, 1e9)).toEqual(sortedModel(keys, direction));
        expect(order.count).toBe(keys.size);
      }),
      { numRuns: 40 },
    );
  });

  it('keep no empty or overfull block when most of many are taken out', () => {
    const { order, keys } = createOrder('ascending');
    for (let id = 1; id <= 20_000; id += 1) keys.set(id, id % 100);
    fillSorted(order, Uint32Array.from(keys.keys()));
    for (let id = 1; id <= 20_000; id += 1) {
      if (id % 47 !== 0) put(order, keys, id, null);
    }
    expect(walk(order, null, 1e9)).toEqual(sortedModel(keys, 'ascending'));
    expect(order.blocks.length).toBeLessThan(5);
    expect(order.sizes.every((size) => size > 0 && size <= 1024)).toBe(true);
  });

  it('take one more at any place of a full block', () => {
    for (const place of [0, 1, 511, 512, 513, 514, 1023, 1024]) {
      const { order, keys } = createOrder('ascending');
      for (let id = 1; id <= 1024; id += 1) put(order, keys, id, id * 2);
      expect(order.sizes).toEqual([1024]);
      put(order, keys, 5000, place * 2 + 1);
      expect(order.sizes).toHaveLength(2);
      expect(walk(order, null, 1e9)).toEqual(sortedModel(keys, 'ascending'));
    }
  });

  it('refuse an id that is there twice or that is not where its key says', () => {
    const { order, keys } = createOrder('descending');
    put(order, keys, 7, 5);
    expect(() => insertSorted(order, 7)).toThrow('7');
    keys.set(8, 5);
    expect(() => removeSorted(order, 8)).toThrow('8');
    expect(walk(order, null, 9)).toEqual([7]);
    keys.set(7, -1);
    expect(() => fillSorted(order, Uint32Array.of(7))).toThrow(RangeError);
  });
});
