/** Where a test may kill the process: on the way of a settlement, at a start, and where the journal is written. */
export type CrashPoint =
  | 'before_line_written'
  | 'after_line_written'
  | 'after_line_synced'
  | 'after_broadcast'
  | 'before_further_signed'
  | 'after_further_line_synced'
  | 'after_further_broadcast'
  | 'before_ending_written'
  | 'after_ending_written'
  | 'before_order_asked'
  | 'after_order_asked'
  | 'before_reopening_written'
  | 'after_reopening_written'
  | 'before_fresh_file_named'
  | 'after_fresh_file_named';

export const CRASH_POINTS: Readonly<Record<CrashPoint, true>> = {
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
};

/** Does nothing unless configured. */
export type ReachCrashPoint = (name: CrashPoint) => void;
