import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** Recorded durations, in git so that a fresh clone knows which files take long. `npm run test:durations` writes this file. */
export const KEPT_DURATIONS = resolve(root, 'test/suite/durations.json');
/** Record of the newest run. Git ignores this file. */
export const RUN_RECORD = resolve(root, 'test-results/run.json');

/** Seconds by path from the root of the checkout. */
export type Durations = Record<string, number>;

export interface RunRecord {
  passed: number;
  failed: number;
  skipped: number;
  /** Seconds of each file, including its setup and imports. */
  files: Durations;
}

export function readKeptDurations(): Durations {
  return JSON.parse(readFileSync(KEPT_DURATIONS, 'utf8'));
}

export function readRunRecord(): RunRecord {
  return JSON.parse(readFileSync(RUN_RECORD, 'utf8'));
}
