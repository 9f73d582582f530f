import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPageBuffers, type PageBuffer } from './page-buffers.ts';

const KIB = 1024;
const MIB = KIB * KIB;
/** Smallest memory for pages, however small the budget. */
const LEAST = 32 * MIB;

function sameMemory(one: PageBuffer, other: PageBuffer): boolean {
  return one.bytes.buffer === other.bytes.buffer && one.bytes.byteOffset === other.bytes.byteOffset;
}

function overlap({ bytes: one }: PageBuffer, { bytes: other }: PageBuffer): boolean {
  if (one.buffer !== other.buffer) return false;
  return one.byteOffset < other.byteOffset + other.length && other.byteOffset < one.byteOffset + one.length;
}

test('memory that was given back is used again', () => {
  const buffers = createPageBuffers(LEAST);
  const first = buffers.take(80 * KIB);
  expect(first.bytes.length).toBe(80 * KIB);
  expect(buffers.usedBytes()).toBe(80 * KIB);
  first.release();
  expect(buffers.usedBytes()).toBe(0);
  expect(sameMemory(first, buffers.take(20 * KIB))).toBe(true);
});

test('what is given back twice is never used for two pages at once', () => {
  const buffers = createPageBuffers(LEAST);
  const first = buffers.take(20 * KIB);
  first.release();
  const second = buffers.take(20 * KIB);
  // The previous holder cannot release it a second time.
  first.release();
  expect(sameMemory(first, second)).toBe(true);
  expect(sameMemory(first, buffers.take(20 * KIB))).toBe(false);
});

test('no two pages ever share memory, all of it is counted, and all of it is found again', () => {
  const act = fc.oneof(
    { weight: 3, arbitrary: fc.record({ take: fc.integer({ min: 1, max: 6 * MIB }) }) },
    { weight: 3, arbitrary: fc.record({ take: fc.integer({ min: 1, max: 100 * KIB }) }) },
    { weight: 4, arbitrary: fc.record({ release: fc.nat(1_000) }) },
    { weight: 1, arbitrary: fc.record({ within: fc.integer({ min: 0, max: 60 * MIB }) }) },
  );
  let apart = 0;
  fc.assert(
    fc.property(fc.array(act, { minLength: 20, maxLength: 200, size: 'max' }), (acts) => {
      const buffers = createPageBuffers(48 * MIB);
      const held: PageBuffer[] = [];
      for (const one of acts) {
        if ('within' in one) buffers.keepWithin(one.within);
        else if ('take' in one) {
          const page = buffers.take(one.take);
          expect(page.bytes.length).toBeGreaterThanOrEqual(one.take);
          expect(held.some((other) => overlap(other, page))).toBe(false);
          held.push(page);
          if (page.bytes.buffer.byteLength === one.take) apart += 1;
        } else {
          const [gone] = held.splice(one.release % Math.max(1, held.length), 1);
          gone?.release();
        }
      }
      for (const page of held) page.release();
      expect(buffers.usedBytes()).toBe(0);
      buffers.keepWithin(48 * MIB);
      // Take everything in the longest pieces.
      const whole = Array.from({ length: 12 }, () => buffers.take(4 * MIB));
      expect(buffers.usedBytes()).toBe(48 * MIB);
      expect(new Set(whole.map(({ bytes }) => bytes.buffer)).size).toBe(12);
    }),
    { seed: 20_261_122, numRuns: 60 },
  );
  expect(apart).toBeGreaterThan(20);
  // This touches gigabytes for the first time: a second on an idle machine, half a minute beside many browsers.
}, 120_000);

test('what finds no room has memory of its own and is not counted', () => {
  const buffers = createPageBuffers(LEAST);
  const all = Array.from({ length: 8 }, () => buffers.take(4 * MIB));
  const other = buffers.take(50_000);
  expect(other.bytes.length).toBe(50_000);
  expect(buffers.usedBytes()).toBe(LEAST);
  other.release();
  expect(buffers.usedBytes()).toBe(LEAST);
  all[3]?.release();
  expect(buffers.take(5 * MIB).bytes.buffer.byteLength).toBe(5 * MIB);
  expect(buffers.usedBytes()).toBe(LEAST - 4 * MIB);
});

test('with less room new pages keep to the front, and what becomes free behind is exchanged for memory that was never written', () => {
  const buffers = createPageBuffers(48 * MIB);
  const all = Array.from({ length: 12 }, () => buffers.take(4 * MIB));
  buffers.keepWithin(40 * MIB);
  for (const page of all) page.release();
  const behind = all.slice(10);
  // Now that these pages are released, their memory can be exchanged.
  buffers.keepWithin(40 * MIB);
  const front = Array.from({ length: 10 }, () => buffers.take(4 * MIB));
  expect(front.every((page, at) => sameMemory(page, all[at] as PageBuffer))).toBe(true);
  expect(buffers.take(4 * MIB).bytes.buffer).not.toBe(behind[0]?.bytes.buffer);
  expect(buffers.usedBytes()).toBe(40 * MIB);
  buffers.keepWithin(48 * MIB);
  const again = [buffers.take(4 * MIB), buffers.take(4 * MIB)];
  expect(buffers.usedBytes()).toBe(48 * MIB);
  for (const page of again) expect(behind.some((old) => sameMemory(old, page))).toBe(false);
});
