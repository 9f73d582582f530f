import type { IncomingMessage } from 'node:http';
import type { Budget } from '../budgets/create-budget.ts';
import type { Random } from '../random.ts';

/** What it takes of a budget in milliseconds. */
export type ReadMeter = Pick<Budget, 'charge' | 'isSpent' | 'mayBeSpent'>;

/** Nearly all answers out of memory take less; those are not worth knowing whose they are. */
const SLOW_MS = 1;

/** One read in so many is looked at, and charged for all of them: two looks at the time are a good part of what a quick read takes. */
const SAMPLE = 8;

/** Charges reads that were slow to who asked for them. */
export interface MeasureReads {
  /** Whether this network has used up what it may. */
  isSpent(request: IncomingMessage): boolean;
  measure<T>(request: IncomingMessage, read: () => T): T;
}

export function createMeasureReads(
  meter: ReadMeter | undefined,
  clientOf: (request: IncomingMessage) => string,
  random: Pick<Random, 'int'>,
): MeasureReads {
  if (meter === undefined) return { isSpent: () => false, measure: (_request, read) => read() };
  // So that no client can tell which ones are looked at. Nothing else rests on it.
  let state = random.int(2 ** 31);
  const isLookedAt = (): boolean => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) | 0;
    return state >>> 16 <= 0xffff / SAMPLE;
  };
  return {
    isSpent: (request) => meter.mayBeSpent() && meter.isSpent(clientOf(request)),
    measure: (request, read) => {
      if (!isLookedAt()) return read();
      const begun = performance.now();
      try {
        return read();
      } finally {
        const took = performance.now() - begun;
        if (took > SLOW_MS) meter.charge({ network: clientOf(request) }, took * SAMPLE);
      }
    },
  };
}
