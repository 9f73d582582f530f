import { type Clock, yieldToEventLoop } from '../../../platform/clock.ts';
import type { Log } from '../../../platform/log.ts';

/** From one round to the next: what happens in between goes out together. */
const EVERY_MS = 100;
/** After a round there is a pause so many times as long, so that listeners never take the process from others. */
const REST = 4;
const LONGEST_REST_MS = 1_000;
const RETRY_MS = 1_000;
/** Done without letting others in between. */
const SLICE = 50;

export interface Signal {
  send(): void;
  /** Resolves when it was sent after the last call. */
  received(): Promise<void>;
}

export function createSignal(): Signal {
  let wake = (): void => {};
  const nextSignal = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
    });
  let pending = nextSignal();
  return {
    send: () => wake(),
    received: async () => {
      await pending;
      pending = nextSignal();
    },
  };
}

export interface SignalLoopOptions {
  clock: Clock;
  log: Log;
  stopped: AbortSignal;
}

/** A loop of its own: the caller that sends may be in the middle of a transaction, and a round asks the database. */
export async function runOnSignal(
  { clock, log, stopped }: SignalLoopOptions,
  signal: Signal,
  round: () => Promise<void>,
): Promise<void> {
  let failing = false;
  while (!stopped.aborted) {
    await signal.received();
    if (stopped.aborted) return;
    const begun = clock.now();
    try {
      await round();
      failing = false;
    } catch (error) {
      // One line for a whole outage.
      if (!failing) log.error('events_not_streamed', { error });
      failing = true;
      signal.send();
      await clock.sleep(RETRY_MS, stopped);
    }
    const rest = Math.min((clock.now() - begun) * REST, LONGEST_REST_MS);
    await clock.sleep(Math.max(rest, EVERY_MS), stopped);
  }
}

/** In slices. Who comes meanwhile has a turn too, and who goes has none. */
export async function forEachInSlices<Item>(items: Iterable<Item>, act: (item: Item) => void): Promise<void> {
  let done = 0;
  for (const item of items) {
    act(item);
    done += 1;
    if (done % SLICE === 0) await yieldToEventLoop();
  }
}
