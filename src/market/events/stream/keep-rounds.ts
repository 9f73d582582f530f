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

export interface Bell {
  ring(): void;
  /** Resolves when it was rung after the last time. */
  heard(): Promise<void>;
}

export function createBell(): Bell {
  let wake = (): void => {};
  const hang = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
    });
  let rung = hang();
  return {
    ring: () => wake(),
    heard: async () => {
      await rung;
      rung = hang();
    },
  };
}

export interface RoundsOptions {
  clock: Clock;
  log: Log;
  stopped: AbortSignal;
}

/** A loop of its own: the caller that rings may be in the middle of a transaction, and a round asks the database. */
export async function keepRounds(
  { clock, log, stopped }: RoundsOptions,
  bell: Bell,
  round: () => Promise<void>,
): Promise<void> {
  let failing = false;
  while (!stopped.aborted) {
    await bell.heard();
    if (stopped.aborted) return;
    const begun = clock.now();
    try {
      await round();
      failing = false;
    } catch (error) {
      // One line for a whole outage.
      if (!failing) log.error('events_not_streamed', { error });
      failing = true;
      bell.ring();
      await clock.sleep(RETRY_MS, stopped);
    }
    const rest = Math.min((clock.now() - begun) * REST, LONGEST_REST_MS);
    await clock.sleep(Math.max(rest, EVERY_MS), stopped);
  }
}

/** In slices. Who comes meanwhile has a turn too, and who goes has none. */
export async function each<Item>(items: Iterable<Item>, act: (item: Item) => void): Promise<void> {
  let done = 0;
  for (const item of items) {
    act(item);
    done += 1;
    if (done % SLICE === 0) await yieldToEventLoop();
  }
}
