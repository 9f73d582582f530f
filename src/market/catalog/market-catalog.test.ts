import { expect, it } from 'vitest';
import { createFragments } from './fragments/fragments.ts';
import { roomForAnswers } from './market-catalog.ts';

const MIB = 1_048_576;

it('finished answers have what the listings leave of the budget, within their bounds, and never more', () => {
  const memoryBytes = 64 * MIB;
  const fragments = createFragments({ budgetBytes: memoryBytes * 0.92 });
  const rooms = [roomForAnswers(memoryBytes, { fragments })];
  expect(rooms[0]).toBe(memoryBytes / 4);
  const text = Buffer.alloc(2_000, 'x');
  for (let id = 1; id < 40_000; id += 1) {
    text.writeUInt32LE(id);
    fragments.put(1 + (id % 35_000), text, 20);
    if (id % 500 !== 0) continue;
    const room = roomForAnswers(memoryBytes, { fragments });
    const { held, garbage } = fragments.bytes();
    // Four hundredths are for listings in gzip.
    expect(held + garbage + memoryBytes / 64 + room + memoryBytes * 0.04).toBeLessThanOrEqual(memoryBytes);
    expect(room).toBeGreaterThanOrEqual(Math.floor(memoryBytes * 0.04));
    rooms.push(room);
  }
  expect(new Set(rooms).size).toBeGreaterThan(5);
  expect(Math.min(...rooms)).toBeLessThan(memoryBytes / 5);
});
