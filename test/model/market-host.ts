import type { CrashPoint, MarketConfig } from '../../src/market/context.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { recordingLog } from '../support/recording-log.ts';
import { startMarket } from './start-market.ts';

/** A market that a test kills and restarts on the same database. */
export interface MarketHost {
  readonly url: string;
  /** Runs the background job once over all open payments. */
  pass(): Promise<void>;
  look(): Promise<void>;
  setNow(ms: number): Promise<void>;
  /** Makes the market die at this point when it next reaches it. Null disables this. */
  crashAt(point: CrashPoint | null): Promise<void>;
  /** Returns whether the market died at its crash point. Returns true only once per death. */
  hasCrashed(): Promise<boolean>;
  /** Resolves when the new market has finished its first background job. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export type OpenHost = (config: MarketConfig, nowMs: number) => Promise<MarketHost>;

export function urlOf({ databaseUrl }: MarketConfig): string {
  if (databaseUrl === null) throw new TypeError('a host needs a database');
  return databaseUrl;
}

/** Starts a market in this process. Killing it aborts it without draining. */
export const hostHere: OpenHost = async (config, nowMs) => {
  const database = await openDatabase({ url: urlOf(config), poolSize: 6, allowUnsafe: true });
  let now = nowMs;
  let armed: CrashPoint | null = null;
  let crashed = false;
  const crashPoint = (reached: CrashPoint): void => {
    if (reached !== armed) return;
    armed = null;
    crashed = true;
    throw new Error(`died at ${reached}`);
  };
  const start = () => startMarket({ config, database, log: recordingLog().log, now: () => now, crashPoint });
  let market = await start();
  return {
    get url() {
      return market.url;
    },
    pass: () => market.running.payments.reconcileOnce(),
    look: () => market.running.payments.watch.check(),
    setNow: async (ms) => {
      now = ms;
    },
    crashAt: async (point) => {
      armed = point;
    },
    hasCrashed: async () => {
      const was = crashed;
      crashed = false;
      return was;
    },
    restart: async () => {
      await market.running.stop({ drainMs: 0 });
      market = await start();
    },
    stop: async () => {
      await market.running.stop({ drainMs: 0 });
      await database.close();
    },
  };
};
