import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ByteRuns, bytesOfRuns, createByteRuns, dropRun, isRun, putRun, slabOf } from './byte-runs.ts';

const change = fc.record({ id: fc.integer({ min: 1, max: 40 }), bytes: fc.uint8Array({ maxLength: 30 }) });

function runOf(runs: ByteRuns, id: number): Buffer {
  const at = runs.at[id] ?? 0;
  return Buffer.from(slabOf(runs, id)?.bytes.subarray(at, at + (runs.length[id] ?? 0)) ?? []);
}

test('holds for each id what was put last, through any changes and whatever is moved', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 400 }), (changes) => {
      const runs = createByteRuns(64);
      const model = new Map<number, Uint8Array>();
      for (const { id, bytes } of changes) {
        if (bytes.length === 0) {
          dropRun(runs, id);
          model.delete(id);
        } else {
          putRun(runs, id, [bytes.subarray(0, 3), bytes.subarray(3)]);
          model.set(id, bytes);
        }
      }
      expect(runs.live).toBe([...model.values()].reduce((sum, { length }) => sum + length, 0));
      for (let id = 0; id <= 41; id += 1) {
        const expected = model.get(id);
        expect(slabOf(runs, id) !== null).toBe(expected !== undefined);
        if (expected === undefined) continue;
        expect(runOf(runs, id)).toEqual(Buffer.from(expected));
        expect(isRun(runs, id, [expected.subarray(0, 1), expected.subarray(1)])).toBe(true);
        expect(isRun(runs, id, [expected.map((byte, at) => (at === expected.length - 1 ? byte ^ 1 : byte))])).toBe(
          false,
        );
        expect(isRun(runs, id, [expected.subarray(1)])).toBe(false);
      }
    }),
  );
});

test('a run longer than a slab gets one of its own', () => {
  const runs = createByteRuns(64);
  putRun(runs, 1, [new Uint8Array(1_000).fill(9)]);
  putRun(runs, 5_000, [Uint8Array.of(1, 2)]);
  expect(isRun(runs, 1, [new Uint8Array(1_000).fill(9)])).toBe(true);
  expect(isRun(runs, 5_000, [Uint8Array.of(1, 2)])).toBe(true);
});

test('memory follows what is held, however often it was replaced', () => {
  const runs = createByteRuns(4_096);
  const bytes = new Uint8Array(100);
  let seed = 1;
  for (let id = 1; id <= 100; id += 1) putRun(runs, id, [bytes]);
  for (let turn = 0; turn < 20_000; turn += 1) {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    // Change some ids often and others hardly ever, so that no slab empties without compaction.
    putRun(runs, 1 + Math.floor(100 * (seed / 2 ** 32) ** 3), [bytes.fill(turn)]);
  }
  expect(bytesOfRuns(runs)).toBeLessThan(1_024 * 12 + 100 * 100 * 3);
  const slabs = runs.table.reduce((sum, slab) => sum + (slab?.bytes.length ?? 0), 0);
  expect(bytesOfRuns(runs)).toBe(slabs + 3 * runs.slab.byteLength);
});
