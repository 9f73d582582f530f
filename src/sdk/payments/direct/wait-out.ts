import { MarketError } from '../../market-error.ts';
import { UnreadableAnswer } from '../../unreadable-answer.ts';
import { pauseSeconds } from '../pause.ts';
import { DEFAULT_WAIT_SECONDS } from '../take-turn.ts';
import type { Answer, Pending, TransferRun } from './transfer-run.ts';

export interface Waiting<Done> {
  ask(): Promise<Answer<Done>>;
  /** Told of each answer that is not the last. */
  seen(pending: Pending | null, error: unknown): void;
  /** What to throw when waiting ends first. */
  undecided(detail: string, cause: unknown): unknown;
  /** What to throw when the market refuses. */
  refused(error: MarketError): unknown;
}

/** Unreadable answers are borne this often in a row; silence as long as the caller's patience lasts. */
const PATIENCE_UNREADABLE = 6;

/** Sends the same request until it is decided, at the pace that the market asks for. */
export async function waitOut<Done>(run: TransferRun, waiting: Waiting<Done>): Promise<Done> {
  for (let failures = 0; ; ) {
    let pending: Pending | null = null;
    let error: unknown;
    try {
      const answer = await waiting.ask();
      if ('done' in answer) return answer.done;
      pending = answer.pending;
      failures = 0;
    } catch (caught) {
      failures += 1;
      error = caught;
      stopUnlessPassing(caught, failures, waiting);
    }
    waiting.seen(pending, error);
    const seconds = pauseSeconds(pending?.retry_after_seconds ?? null, error, failures);
    await pause(run, seconds, (detail, cause) => waiting.undecided(detail, cause ?? error));
  }
}

function stopUnlessPassing(error: unknown, failures: number, waiting: Pick<Waiting<never>, 'undecided' | 'refused'>) {
  if (error instanceof MarketError) {
    if (!mayPass(error)) throw waiting.refused(error);
    return;
  }
  if (!(error instanceof UnreadableAnswer)) throw error;
  if (error.why !== 'no_answer' && failures >= PATIENCE_UNREADABLE) {
    throw waiting.undecided('The market cannot be understood', error);
  }
}

/** The same request may be answered otherwise later. */
export function mayPass(error: MarketError): boolean {
  const { retry } = error.problem;
  const passing = error.status >= 500 || error.status === 429 || error.reason === 'payment_undecided';
  return passing && (retry === 'same_request' || retry === 'same_proof');
}

/** Sleeps, unless the caller's patience ends before. */
export async function pause(
  run: TransferRun,
  seconds: number,
  undecided: (detail: string, cause?: unknown) => unknown,
): Promise<void> {
  const { client, maxWaitSeconds = DEFAULT_WAIT_SECONDS, signal } = run.options;
  const { environment } = client;
  if (environment.now() + seconds * 1_000 > run.startedMs + maxWaitSeconds * 1_000) throw undecided('The wait is over');
  try {
    await environment.sleep(seconds * 1_000, signal);
  } catch (cause) {
    throw undecided('The wait was broken off', cause);
  }
}
