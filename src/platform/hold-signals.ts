import { STOP_SIGNALS } from './shutdown.ts';

/** Keeps signals from ending the process until `release`, which says whether one came: half-way through a start they would leave a database behind. */
export function holdSignals(): { release(): NodeJS.Signals | null } {
  let held: NodeJS.Signals | null = null;
  const hold = (signal: NodeJS.Signals): void => {
    held ??= signal;
  };
  for (const signal of STOP_SIGNALS) process.on(signal, hold);
  return {
    release: () => {
      for (const signal of STOP_SIGNALS) process.off(signal, hold);
      return held;
    },
  };
}
