import { defineConfig } from 'vitest/config';
import { PROJECTS } from './test/suite/projects.ts';
import { RecordRun } from './test/suite/record-run.ts';
import { LongestFirst } from './test/suite/sequencer.ts';
import { keepTemporaryFilesInMemory } from './test/suite/temporary-files.ts';

keepTemporaryFilesInMemory();

/** All suites in one pool. `npm test` picks the quick one; test/suite/projects.ts says what belongs to each. */
export default defineConfig({
  test: {
    // A retry would hide a race.
    retry: 0,
    // A poll ends as soon as its condition holds. A busy machine may need longer than the second that Vitest allows.
    expect: { poll: { timeout: 10_000 } },
    globalSetup: 'test/support/global-setup.ts',
    // Real servers and a real chain: one file can keep both cores busy. With three workers, tests that wait for a time limit failed at times.
    maxWorkers: 2,
    // Modules are loaded once per worker: none of ours keeps state between files, and loading was a third of the time.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', new RecordRun()],
    projects: PROJECTS.map((test) => ({ extends: true, test })),
  },
});
