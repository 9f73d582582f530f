import { expect, test } from 'vitest';
import { createStemTable, holdStem, stemLevel } from './stem-table.ts';
import { addWaiting, createWaitingLevels, writeWaiting } from './text-state.ts';

test.each([3, 1_000, 5_000])('levels reach their sets, %i waiting at most', (capacity) => {
  const stems = createStemTable();
  const ids = Array.from({ length: 60 }, (_, at) => holdStem(stems, `stem${at}`));
  const waiting = createWaitingLevels(capacity);
  for (let listing = 1; listing <= 800; listing += 1) {
    for (const stem of ids) {
      if ((listing + stem) % 3 === 0) addWaiting(waiting, stems, stem, listing, 1 + ((listing * stem) % 7));
    }
  }
  writeWaiting(waiting, stems);
  for (let listing = 1; listing <= 800; listing += 1) {
    for (const stem of ids) {
      const expected = (listing + stem) % 3 === 0 ? 1 + ((listing * stem) % 7) : 0;
      if (stemLevel(stems, stem, listing) !== expected) expect.fail(`stem ${stem} of listing ${listing}`);
    }
  }
  const bytes = stems.bytes;
  writeWaiting(waiting, stems);
  expect(stems.bytes).toBe(bytes);
});
