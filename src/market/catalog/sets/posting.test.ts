import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPosting, forEachMember, levelOf, memberBelow, type Posting, postingBytes, setLevel } from './posting.ts';

function membersOf(posting: Posting): [number, number][] {
  const members: [number, number][] = [];
  forEachMember(posting, (id, level) => members.push([id, level]));
  return members;
}

/** Compares the set with a map. */
function expectSame(posting: Posting, model: Map<number, number>, probes: readonly number[]): void {
  const sorted = [...model].sort(([a], [b]) => a - b);
  expect(membersOf(posting)).toEqual(sorted);
  expect(posting.count).toBe(model.size);
  for (const probe of probes) {
    expect(levelOf(posting, probe)).toBe(model.get(probe) ?? 0);
    expect(memberBelow(posting, probe)).toBe(sorted.findLast(([id]) => id < probe)?.[0] ?? 0);
  }
}

/** Runs of changes: every n-th id of a range, all to one level or (null) to levels that differ per id. */
const runs = fc.array(
  fc.record({
    from: fc.integer({ min: 1, max: 9000 }),
    length: fc.integer({ min: 1, max: 2500 }),
    step: fc.constantFrom(1, 2, 7, 40),
    level: fc.constantFrom(0, 0, 1, 2, 5, 7, null),
    backwards: fc.boolean(),
  }),
  { maxLength: 8 },
);

describe('a posting', () => {
  it('knows what a map knows after any changes, in either form', () => {
    fc.assert(
      fc.property(runs, fc.array(fc.integer({ min: 0, max: 13_000 }), { maxLength: 12 }), (changes, probes) => {
        const posting = createPosting();
        const model = new Map<number, number>();
        for (const { from, length, step, level, backwards } of changes) {
          for (let at = 0; at < length; at += step) {
            const id = from + (backwards ? length - at : at);
            const wanted = level ?? (id * 31) % 8;
            setLevel(posting, id, wanted);
            if (wanted === 0) model.delete(id);
            else model.set(id, wanted);
          }
          expectSame(posting, model, [...probes, from, from + length, 1e9]);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('becomes planes when it fills up, a list again when it empties, and stays the same set', () => {
    const posting = createPosting();
    const model = new Map<number, number>();
    for (let id = 1; id <= 20_000; id += 3) {
      setLevel(posting, id, 1 + (id % 7));
      model.set(id, 1 + (id % 7));
    }
    expect(posting.dense).not.toBeNull();
    expectSame(posting, model, [1, 2, 4096, 4097, 20_000]);
    for (let id = 1; id <= 19_900; id += 3) {
      setLevel(posting, id, 0);
      model.delete(id);
    }
    expect(posting.dense).toBeNull();
    expectSame(posting, model, [1, 19_901, 19_903, 20_000]);
    for (const id of [...model.keys()]) setLevel(posting, id, 0);
    expect([posting.count, memberBelow(posting, 1e9)]).toEqual([0, 0]);
  });

  it('does not build planes up to a single far id', () => {
    const posting = createPosting();
    for (let id = 1; id <= 4000; id += 1) setLevel(posting, id, 1);
    expect(posting.dense).not.toBeNull();
    setLevel(posting, 2 ** 29 - 1, 1);
    expect(posting.dense).toBeNull();
    expect([posting.count, levelOf(posting, 2 ** 29 - 1), levelOf(posting, 4000)]).toEqual([4001, 1, 1]);
    expect(postingBytes(posting)).toBeLessThan(30_000);
  });

  it('takes one plane while all levels are 1, and more only for the levels that come', () => {
    const posting = createPosting();
    for (let id = 1; id <= 100_000; id += 1) setLevel(posting, id, 1);
    const single = postingBytes(posting);
    expect(single).toBeLessThan(16_000);
    setLevel(posting, 50_000, 2);
    expect(postingBytes(posting)).toBeGreaterThan(single * 1.5);
    expect(postingBytes(posting)).toBeLessThan(single * 2.1);
    expect([levelOf(posting, 49_999), levelOf(posting, 50_000)]).toEqual([1, 2]);
  });

  it('gives room back when a list empties', () => {
    const posting = createPosting();
    for (let id = 1; id <= 200; id += 1) setLevel(posting, id * 1000, 1);
    const full = postingBytes(posting);
    for (let id = 1; id <= 190; id += 1) setLevel(posting, id * 1000, 0);
    expect(postingBytes(posting)).toBeLessThan(full - 600);
    expect(membersOf(posting).map(([id]) => id / 1000)).toEqual([191, 192, 193, 194, 195, 196, 197, 198, 199, 200]);
  });

  it('does not change its form to and fro at the edge', () => {
    const posting = createPosting();
    let id = 0;
    while (posting.dense === null) {
      id += 50;
      setLevel(posting, id, 1);
    }
    for (let removed = 0; removed < 100; removed += 1) {
      setLevel(posting, id, 0);
      expect(posting.dense).not.toBeNull();
      id -= 50;
    }
  });

  it('refuses what has no place in it', () => {
    const posting = createPosting();
    for (const [id, level] of [
      [0, 1],
      [-1, 1],
      [2 ** 29, 1],
      [1, 8],
      [1, -1],
      [Number.NaN, 1],
    ] as const) {
      expect(() => setLevel(posting, id, level)).toThrow(RangeError);
    }
    expect(posting.count).toBe(0);
  });
});
