import { MarketError } from '../market-error.ts';
import { pauseSeconds } from './pause.ts';
import { PaymentUndecided } from './payment-undecided.ts';
import { type ProgressPhase, paymentIn } from './progress.ts';
import type { Pending, Run } from './pursuit.ts';

/** How long a call waits for a payment to be decided unless it is told otherwise. */
export const DEFAULT_WAIT_SECONDS = 3_600;

/** Waits as long as the market asks, or a growing while if it names no time. */
export async function takeTurn(run: Run, seen: { pending: Pending } | { error: unknown }): Promise<void> {
  const { environment } = run.options.client;
  const pending = 'pending' in seen ? seen.pending : null;
  const error = 'error' in seen ? seen.error : undefined;
  const seconds = pauseSeconds(pending?.retry_after_seconds ?? null, error, run.failures);
  reportProgress(run, pending === null ? 'submitted' : 'pending', pending, error);
  const deadlineMs = run.startedMs + (run.options.maxWaitSeconds ?? DEFAULT_WAIT_SECONDS) * 1_000;
  if (environment.now() + seconds * 1_000 > deadlineMs) throw undecided(run, 'The wait is over', error);
  try {
    await environment.sleep(seconds * 1_000, run.options.signal);
  } catch (cause) {
    throw undecided(run, 'The wait was broken off', cause);
  }
}

export function reportProgress(run: Run, phase: ProgressPhase, pending: Pending | null = null, error?: unknown): void {
  if (phase === 'submitted' && run.saved === null) return;
  const payment = pending?.payment ?? paymentIn(error);
  const estimate = pending?.estimate_seconds ?? null;
  run.options.onProgress?.({
    phase,
    secondsWaited: Math.floor((run.options.client.environment.now() - run.startedMs) / 1_000),
    ...(payment === undefined ? {} : { payment }),
    ...(error instanceof MarketError ? { reason: error.reason } : {}),
    ...(estimate === null ? {} : { estimateSeconds: estimate }),
  });
}

/** What to throw when this process gives up: a warning as soon as a payment may exist, else the cause itself. */
export function undecided(run: Run, detail: string, cause: unknown): unknown {
  const nothingKnown = run.saved === null && !run.knownToExist;
  return nothingKnown && cause !== undefined ? cause : new PaymentUndecided(detail, run.saved, cause);
}
