import { MarketError } from '../market-error.ts';
import { UnreadableAnswer } from '../unreadable-answer.ts';

const LONGEST_PAUSE_SECONDS = 30;

/** As long as the market asks, or a growing while if it names no time. */
export function pauseSeconds(asked: number | null, error: unknown, failures: number): number {
  const wanted = asked ?? retryAfterOf(error);
  return Math.max(1, wanted ?? Math.min(LONGEST_PAUSE_SECONDS, 2 ** Math.min(failures, 5)));
}

function retryAfterOf(error: unknown): number | null {
  return error instanceof MarketError || error instanceof UnreadableAnswer ? error.retryAfterSeconds : null;
}
