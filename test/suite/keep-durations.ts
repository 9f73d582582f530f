import { existsSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Durations, KEPT_DURATIONS, readKeptDurations, readRunRecord } from './durations.ts';

// Copies the durations of the newest run into the file that the sequencer reads. Files that were not in that run keep their durations.

const root = resolve(import.meta.dirname, '../..');
const merged: Durations = { ...readKeptDurations(), ...readRunRecord().files };
const kept = Object.entries(merged)
  .filter(([path]) => existsSync(resolve(root, path)))
  .toSorted(([a], [b]) => (a < b ? -1 : 1));
writeFileSync(KEPT_DURATIONS, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
process.stdout.write(`${kept.length} files\n`);
