import type { Clock } from '../../platform/clock.ts';
import type { InternalRequest } from '../../platform/http/server-options.ts';
import type { ReadAnswer } from './messages.ts';
import { rewriteForTools } from './tool-guide.ts';

/** Reports the seconds waited, an estimate of the total if there is one, and a message. */
export type Report = (progress: number, total: number | undefined, message: string) => Promise<void>;

export interface FinalityWait {
  ask(request: InternalRequest): Promise<ReadAnswer>;
  request: InternalRequest;
  report: Report;
  signal: AbortSignal;
}

/** Shorter than the default tool timeout of hosts. */
const LONGEST_WAIT_MS = 45_000;
const LONGEST_PAUSE_MS = 5_000;
const REPORT_EVERY_MS = 2_000;

/** Repeats the request while a payment is undecided, reports progress, and returns the last answer. A repeated request never pays twice. */
export async function waitForFinality(clock: Clock, waiting: FinalityWait): Promise<ReadAnswer> {
  const startedAt = clock.now();
  const progress: Progress = { since: startedAt, total: undefined, message: 'Asking the market.' };
  const done = new AbortController();
  const reporting = keepReporting(clock, waiting, progress, done.signal);
  try {
    let request = waiting.request;
    for (;;) {
      const answer = await waiting.ask(request);
      const step = readUndecided(answer);
      const pause = Math.min(LONGEST_PAUSE_MS, (step?.seconds ?? 0) * 1_000);
      if (step === null || waiting.signal.aborted || clock.now() + pause - startedAt > LONGEST_WAIT_MS) {
        return request === waiting.request ? answer : withToken(answer, request);
      }
      progress.message = step.message;
      progress.total = step.estimate === null ? undefined : (clock.now() - startedAt) / 1_000 + step.estimate;
      request = keepToken(request, answer);
      await clock.sleep(pause, waiting.signal);
    }
  } finally {
    done.abort();
    await reporting;
  }
}

interface Progress {
  since: number;
  /** Estimated seconds in total. */
  total: number | undefined;
  message: string;
}

async function keepReporting(
  clock: Clock,
  { report }: FinalityWait,
  progress: Progress,
  done: AbortSignal,
): Promise<void> {
  let last = 0;
  while (!done.aborted) {
    await clock.sleep(REPORT_EVERY_MS, done);
    if (done.aborted) return;
    // The protocol requires that progress rises with each report, even if the clock does not.
    last = Math.max(last + 0.001, (clock.now() - progress.since) / 1_000);
    const total = progress.total === undefined ? undefined : Math.max(progress.total, last);
    // The client may be gone, but the payment continues.
    await report(last, total, progress.message).catch(() => {});
  }
}

interface Undecided {
  seconds: number;
  estimate: number | null;
  message: string;
}

/** Returns how long to wait before the next request. Null if the request must not or need not be repeated. */
function readUndecided({ status, text }: ReadAnswer): Undecided | null {
  if (status !== 202 && status !== 503) return null;
  const body = JSON.parse(text) as Record<string, unknown>;
  const { retry, retry_after_seconds: seconds, estimate_seconds: estimate, next_step: next } = body;
  if (retry !== 'same_request' && retry !== 'same_proof') return null;
  // Report an outage at once if no payment is under way.
  if (body['do_not_pay_again'] !== true) return null;
  return {
    seconds: typeof seconds === 'number' ? seconds : 1,
    estimate: typeof estimate === 'number' ? estimate : null,
    message: typeof next === 'string' ? rewriteForTools(next) : 'The payment is under way.',
  };
}

/** Adds the delivery token to further requests, because only the first answer has it and a buyer without a key collects with it. */
function keepToken(request: InternalRequest, answer: ReadAnswer): InternalRequest {
  const { delivery_token: token } = JSON.parse(answer.text) as { delivery_token?: unknown };
  if (typeof token !== 'string') return request;
  return { ...request, headers: { ...request.headers, 'x-delivery-token': token } };
}

/** Adds the delivery token to the last answer, because the token came with an earlier answer, which the caller has not seen. */
function withToken(answer: ReadAnswer, { headers }: InternalRequest): ReadAnswer {
  const token = headers?.['x-delivery-token'];
  if (token === undefined) return answer;
  const body = JSON.parse(answer.text) as Record<string, unknown>;
  return { ...answer, text: JSON.stringify({ delivery_token: token, ...body }) };
}
