import type { LogEnd } from './copied-event.ts';
import type { LogAtEnd } from './store.ts';

/**
 * `same`: the log holds what the copy ends with. `unknown`: there is nothing to compare, or the server is in recovery and may lag.
 * `lost`: what was public is not in the log, or other content has its id.
 */
export type Comparison = 'same' | 'unknown' | 'lost';

export function compareLog(copy: LogEnd | null, log: LogAtEnd): Comparison {
  if (log.inRecovery || copy === null) return 'unknown';
  if (log.leftOut) return 'same';
  if (log.newestId < copy.id) return 'lost';
  return log.hash?.equals(copy.hash) === true ? 'same' : 'lost';
}
