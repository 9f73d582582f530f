import { type Clock, systemClock } from '../../src/platform/clock.ts';

/** How often the facilitator of a model test looks after what it sent: never by itself. */
export const TEND_MS = 79_000_000;
export const POLL_MS = 2;
/** A poll for a receipt that will not come counts as that much longer, so that a dropped transaction costs no seconds. */
const HASTE = 200;
const PAST_ANSWER_MS = 10_000;

export interface FacilitatorClock {
  clock: Clock;
  /** Lets it look after everything that it sent, once. */
  tend(): Promise<void>;
}

export function createFacilitatorClock(): FacilitatorClock {
  let aheadMs = 0;
  let idle = Promise.withResolvers<() => void>();
  return {
    clock: {
      now: () => systemClock.now() + aheadMs,
      sleep: async (ms, signal) => {
        if (ms !== TEND_MS) {
          if (ms <= POLL_MS) aheadMs += HASTE * ms;
          return await systemClock.sleep(ms, signal);
        }
        await new Promise<void>((resolve) => {
          signal?.addEventListener('abort', () => resolve(), { once: true });
          idle.resolve(resolve);
        });
      },
    },
    tend: async () => {
      const goOn = await idle.promise;
      idle = Promise.withResolvers();
      aheadMs += PAST_ANSWER_MS;
      goOn();
      await idle.promise;
    },
  };
}
