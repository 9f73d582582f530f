import type { Environment } from '../environment.ts';
import { MarketError, UnreadableAnswer } from '../errors.ts';

/** Failures in a row, without a byte in between, after which an upload or a download gives up. The pauses take about three minutes. */
const MOST_FAILURES = 10;
const LONGEST_PAUSE_SECONDS = 30;
/** A market that asks for a longer pause is not waited for: the error says how long it is, and the next call resumes. */
const LONGEST_ASKED_SECONDS = 120;

/** Refusals after which the same bytes can be sent again, besides those whose `retry` says so. */
const CONTINUES_AFTER: ReadonlySet<string> = new Set(['upload_offset', 'internal_error']);

export interface Patience {
  /** Ends a row of failures, because bytes went through. */
  noteProgress(): void;
  /** Pauses before a repetition. Throws the error if repeating is useless or has failed too often, and if `signal` aborts. */
  pauseAfter(error: unknown): Promise<void>;
}

export function createPatience({ sleep }: Pick<Environment, 'sleep'>, signal: AbortSignal | undefined): Patience {
  let failures = 0;
  return {
    noteProgress: () => {
      failures = 0;
    },
    pauseAfter: async (error) => {
      signal?.throwIfAborted();
      failures += 1;
      if (!isRepeatable(error) || failures > MOST_FAILURES) throw error;
      const asked = error.retryAfterSeconds ?? 0;
      if (asked > LONGEST_ASKED_SECONDS) throw error;
      const seconds = Math.max(asked, Math.min(LONGEST_PAUSE_SECONDS, 2 ** (failures - 1)));
      await sleep(seconds * 1_000, signal);
    },
  };
}

/** Repeats a request that changes nothing until it succeeds or patience ends. */
export async function repeatUntilDone<T>(patience: Patience, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      await patience.pauseAfter(error);
    }
  }
}

function isRepeatable(error: unknown): error is MarketError | UnreadableAnswer {
  if (error instanceof MarketError) return error.problem.retry === 'same_request' || CONTINUES_AFTER.has(error.reason);
  if (!(error instanceof UnreadableAnswer)) return false;
  const { why, status } = error;
  return why === 'no_answer' || (status !== null && (status >= 500 || status === 429 || status === 408));
}
