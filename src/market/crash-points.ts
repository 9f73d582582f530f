import type { Environment } from '../platform/config.ts';
import { ConfigError } from '../platform/config.ts';
import type { CrashPoint } from './context.ts';

export const CRASH_VARIABLE = 'OPENAISLE_TEST_CRASH_AT';

/** A record, so that a new point that is missing here does not compile. */
const CRASH_POINTS: Record<CrashPoint, true> = {
  before_verify: true,
  after_settling_committed: true,
  after_settle_before_answer: true,
  after_claim_committed: true,
  after_watermark_raised: true,
  after_head_read: true,
  after_evidence_gathered: true,
  after_final_before_delivery: true,
  after_commit_before_answer: true,
};

/** The point at which a test wants this process to die; null outside of tests. */
export function readCrashPoint(env: Environment): CrashPoint | null {
  const name = env[CRASH_VARIABLE]?.trim() ?? '';
  if (name === '') return null;
  if (isCrashPoint(name)) return name;
  throw new ConfigError([`${CRASH_VARIABLE} must be unset or one of ${Object.keys(CRASH_POINTS).join(', ')}`]);
}

function isCrashPoint(name: string): name is CrashPoint {
  return Object.hasOwn(CRASH_POINTS, name);
}

/** Nothing is closed and nothing is flushed, as when the machine loses power. */
export function crashAt(point: CrashPoint): (reached: CrashPoint) => void {
  return (reached) => {
    if (reached === point) process.kill(process.pid, 'SIGKILL');
  };
}
