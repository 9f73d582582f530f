import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node';
import { type Durations, RUN_RECORD } from './durations.ts';

const SLOWEST = 15;

/**
 * Prints an error when its test fails, because an interrupted run prints no summary. Writes the duration of each file and the number of
 * passed tests, and prints the slowest files.
 */
export class RecordRun implements Reporter {
  private root = '';

  onInit({ config }: Vitest): void {
    this.root = config.root;
  }

  onTestCaseResult(test: TestCase): void {
    for (const { message, diff } of test.result().errors ?? []) {
      process.stdout.write(`FAILED ${test.module.relativeModuleId} > ${test.fullName}\n${message}\n${diff ?? ''}\n`);
    }
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const files: Durations = {};
    const counts = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      files[relative(this.root, module.moduleId)] = secondsOf(module);
      // A file that fails outside of its tests counts as one failed test.
      let failed = 0;
      for (const test of module.children.allTests()) {
        counts[test.result().state] += 1;
        if (test.result().state === 'failed') failed += 1;
      }
      if (module.state() === 'failed' && failed === 0) counts.failed += 1;
    }
    mkdirSync(dirname(RUN_RECORD), { recursive: true });
    const { passed, failed, skipped } = counts;
    writeFileSync(RUN_RECORD, `${JSON.stringify({ passed, failed, skipped, files }, null, 1)}\n`);
    const slowest = Object.entries(files)
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, SLOWEST);
    process.stdout.write(`\nThe slowest files:\n`);
    for (const [path, seconds] of slowest) process.stdout.write(`${seconds.toFixed(1).padStart(8)} s  ${path}\n`);
  }
}

function secondsOf(module: TestModule): number {
  const { duration, collectDuration, setupDuration, prepareDuration, environmentSetupDuration } = module.diagnostic();
  const ms = duration + collectDuration + setupDuration + prepareDuration + environmentSetupDuration;
  return Math.round(ms / 100) / 10;
}
