/** Points at which a test may kill the process: during a settlement, at the start, and while the journal is written. */
export const CRASH_POINTS = {
  before_line_written: true,
  after_line_written: true,
  after_line_synced: true,
  after_broadcast: true,
  before_further_signed: true,
  after_further_line_synced: true,
  after_further_broadcast: true,
  before_ending_written: true,
  after_ending_written: true,
  before_order_asked: true,
  after_order_asked: true,
  before_reopening_written: true,
  after_reopening_written: true,
  before_fresh_file_named: true,
  after_fresh_file_named: true,
} as const;
export type CrashPoint = keyof typeof CRASH_POINTS;

/** Does nothing unless a test configured a crash. */
export type ReachCrashPoint = (name: CrashPoint) => void;
