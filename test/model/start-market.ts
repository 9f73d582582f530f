import type { CrashPoint, MarketConfig } from '../../src/market/context.ts';
import { createMarket, type RunningMarket } from '../../src/market/create-market.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import type { Database } from '../../src/platform/database/database.ts';
import type { Log } from '../../src/platform/log.ts';
import { createPepperFrom } from '../../src/platform/pepper.ts';
import { systemRandom } from '../../src/platform/random.ts';

/** Only the first background job runs on schedule. The test triggers all others. */
const PASS_EVERY_MS = 77_000_000;
const WATCH_EVERY_MS = 78_000_000;
/** Shorter waits take real time; longer ones last until the end. */
const LONGEST_WAIT_MS = 30_000;

export interface Starting {
  config: MarketConfig;
  database: Database;
  log: Log;
  now(): number;
  crashPoint(name: CrashPoint): void;
}

/** Resolves when the market serves and its first background job is over, so that no later work starts on its own. */
export async function startMarket(starting: Starting): Promise<{ url: string; running: RunningMarket }> {
  const { config, database, log, now, crashPoint } = starting;
  const passed = Promise.withResolvers<void>();
  const clock: Clock = {
    now,
    sleep: (ms, signal) => {
      if (ms === PASS_EVERY_MS) passed.resolve();
      return ms <= LONGEST_WAIT_MS ? systemClock.sleep(ms, signal) : untilAborted(signal);
    },
  };
  const running = createMarket({
    config,
    database,
    clock,
    random: systemRandom,
    log,
    // All test markets share this pepper.
    pepper: createPepperFrom(new Map([[1, Buffer.alloc(32, 7)]])),
    reconcileEveryMs: PASS_EVERY_MS,
    watchEveryMs: WATCH_EVERY_MS,
    // The test decides when blocks become final, not the pace of a network.
    longestPauseMs: 0,
    crashPoint,
  });
  const { url } = await running.start();
  await passed.promise;
  return { url, running };
}

function untilAborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    signal?.addEventListener('abort', () => resolve(), { once: true });
  });
}
