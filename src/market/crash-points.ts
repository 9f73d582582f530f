import type { CrashPoint } from './context.ts';

export const CRASH_POINTS: Readonly<Record<CrashPoint, true>> = {
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
