import type { Clock } from '../../platform/clock.ts';
import type { InternalRequest } from '../../platform/http/server-options.ts';
import type { ReadAnswer } from './messages.ts';
import { inToolWords } from './tool-guide.ts';

/** Seconds waited, of about so many where the market dares to guess, and what it waits for. */
export type Report = (progress: number, total: number | undefined, message: string) => Promise<void>;

export interface Waiting {
  ask(request: InternalRequest): Promise<ReadAnswer>;
  request: InternalRequest;
  report: Report;
  signal: AbortSignal;
}

/** Below the time that hosts wait for a tool by default. */
const LONGEST_WAIT_MS = 45_000;
const LONGEST_PAUSE_MS = 5_000;
const REPORT_EVERY_MS = 2_000;

/**
 * Asks the same again while a payment is undecided, and says how far it is. The same request never pays twice, so this is only
 * patience. Ends with whatever the route answers last.
 */
export async function waitForFinality(clock: Clock, waiting: Waiting): Promise<ReadAnswer> {
  const begun = clock.now();
  const told = { since: begun, total: undefined as number | undefined, message: 'Asking the market.' };
  const done = new AbortController();
  const reporting = keepReporting(clock, waiting, told, done.signal);
  try {
    let request = waiting.request;
    for (;;) {
      const answer = await waiting.ask(request);
      const step = undecided(answer);
      const pause = Math.min(LONGEST_PAUSE_MS, (step?.seconds ?? 0) * 1_000);
      if (step === null || waiting.signal.aborted || clock.now() + pause - begun > LONGEST_WAIT_MS) {
        return request === waiting.request ? answer : withToken(answer, request);
      }
      told.message = step.message;
      told.total = step.estimate === null ? undefined : (clock.now() - begun) / 1_000 + step.estimate;
      request = remember(request, answer);
      await clock.sleep(pause, waiting.signal);
    }
  } finally {
    done.abort();
    await reporting;
  }
}

async function keepReporting(
  clock: Clock,
  { report }: Waiting,
  told: { since: number; total: number | undefined; message: string },
  done: AbortSignal,
): Promise<void> {
  let last = 0;
  while (!done.aborted) {
    await clock.sleep(REPORT_EVERY_MS, done);
    if (done.aborted) return;
    // Progress must rise with each report, whatever the clock does.
    last = Math.max(last + 0.001, (clock.now() - told.since) / 1_000);
    // The client that followed along may be gone; the payment is not.
    await report(last, told.total === undefined ? undefined : Math.max(told.total, last), told.message).catch(() => {});
  }
}

interface Undecided {
  seconds: number;
  estimate: number | null;
  message: string;
}

/** What an answer says about waiting; null: it is the end. */
function undecided({ status, text }: ReadAnswer): Undecided | null {
  if (status !== 202 && status !== 503) return null;
  const body = JSON.parse(text) as Record<string, unknown>;
  const { retry, retry_after_seconds: seconds, estimate_seconds: estimate, next_step: next } = body;
  if (retry !== 'same_request' && retry !== 'same_proof') return null;
  // Who has nothing under way is told at once that something is out of order.
  if (body['do_not_pay_again'] !== true) return null;
  return {
    seconds: typeof seconds === 'number' ? seconds : 1,
    estimate: typeof estimate === 'number' ? estimate : null,
    message: typeof next === 'string' ? inToolWords(next) : 'The payment is under way.',
  };
}

/** The token is in the first answer only, and a buyer without a key collects with it. */
function remember(request: InternalRequest, answer: ReadAnswer): InternalRequest {
  const { delivery_token: token } = JSON.parse(answer.text) as { delivery_token?: unknown };
  if (typeof token !== 'string') return request;
  return { ...request, headers: { ...request.headers, 'x-delivery-token': token } };
}

/** A token that was given on the way is given to the caller, who has not seen that answer. */
function withToken(answer: ReadAnswer, { headers }: InternalRequest): ReadAnswer {
  const token = headers?.['x-delivery-token'];
  if (token === undefined) return answer;
  const body = JSON.parse(answer.text) as Record<string, unknown>;
  return { ...answer, text: JSON.stringify({ delivery_token: token, ...body }) };
}
