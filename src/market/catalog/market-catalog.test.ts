import { expect, it } from 'vitest';
import { createFragments } from './fragments/fragments.ts';
import { roomForAnswers } from './market-catalog.ts';
import { createTextIndex } from './text/text-index.ts';

const MIB = 1_048_576;

it('finished answers have what the listings and their words leave of the budget, within their bounds, and never more', () => {
  const memoryBytes = 64 * MIB;
  const fragments = createFragments({ budgetBytes: memoryBytes * 0.86 });
  const text = createTextIndex({ giveWay: async () => {} });
  const rooms = [roomForAnswers(memoryBytes, { fragments, text })];
  expect(rooms[0]).toBe(memoryBytes / 4);
  const json = Buffer.alloc(2_000, 'x');
  for (let id = 1; id < 40_000; id += 1) {
    json.writeUInt32LE(id);
    fragments.put(1 + (id % 35_000), json, { head: 20, line: 0 });
    if (id % 500 !== 0) continue;
    const room = roomForAnswers(memoryBytes, { fragments, text });
    const { live, garbage } = fragments.bytes();
    // Four percent of the budget is for gzipped listings.
    expect(live + garbage + memoryBytes / 64 + room + memoryBytes * 0.04).toBeLessThanOrEqual(memoryBytes);
    expect(room).toBeGreaterThanOrEqual(Math.floor(memoryBytes * 0.1));
    rooms.push(room);
  }
  expect(new Set(rooms).size).toBeGreaterThan(5);
  expect(Math.min(...rooms)).toBeLessThan(memoryBytes / 5);
});

it('words take their room from finished answers', () => {
  const memoryBytes = 2 * MIB;
  const fragments = createFragments({ budgetBytes: memoryBytes * 0.86 });
  const text = createTextIndex({ giveWay: async () => {} });
  const put = (id: number): void => {
    const words = Array.from({ length: 40 }, (_, at) => `word${id}x${at}`).join(' ');
    text.put(id, { title: words, tags: [], keywords: [], merchant: 'm', description: '', preview: '' });
  };
  for (let id = 1; text.bytes() < MIB; id += 1) put(id);
  const left = memoryBytes * (1 - 0.04 - 1 / 64) - text.bytes();
  for (let id = 1_000; ; id += 1) {
    const room = roomForAnswers(memoryBytes, { fragments, text });
    const now = memoryBytes * (1 - 0.04 - 1 / 64) - text.bytes();
    expect(room).toBe(Math.floor(Math.min(memoryBytes / 4, Math.max(memoryBytes * 0.1, now))));
    if (now < 0) break;
    put(id);
  }
  expect(left).toBeGreaterThan(0);
});
