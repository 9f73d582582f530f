import { ConfigError, type Environment } from './config.ts';
import type { Log } from './log.ts';

export const CRASH_VARIABLE = 'OPENAISLE_TEST_CRASH_AT';

/** The point at which a test kills this process, and on which pass through that point. */
export interface Crash<Name extends string> {
  name: Name;
  nth: number;
}

const TEXT = /^(?<name>[a-z_]+)(?::(?<nth>[1-9]\d{0,5}))?$/;

/**
 * Parses `name`, or `name:3` for the third pass. Null if the variable is not set, as outside of tests. `points` is a record, so that a
 * missing point does not compile.
 */
export function readCrash<Name extends string>(
  env: Environment,
  points: Readonly<Record<Name, true>>,
): Crash<Name> | null {
  const text = env[CRASH_VARIABLE]?.trim() ?? '';
  if (text === '') return null;
  const { name = '', nth = '1' } = TEXT.exec(text)?.groups ?? {};
  const isPoint = (text: string): text is Name => Object.hasOwn(points, text);
  if (isPoint(name)) return { name, nth: Number(nth) };
  throw new ConfigError([`${CRASH_VARIABLE} must be unset or one of ${Object.keys(points).join(', ')}`]);
}

export function warnOfCrash(log: Log, { name }: Crash<string>): void {
  log.warn('THIS_PROCESS_KILLS_ITSELF', { name, detail: `${CRASH_VARIABLE} is set: for tests only` });
}

/** Kills the process without closing or flushing anything, as a power failure would. */
export function crashAt<Name extends string>({ name, nth }: Crash<Name>): (reached: Name) => void {
  let left = nth;
  return (reached) => {
    if (reached !== name) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  };
}
