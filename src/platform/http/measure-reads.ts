import type { IncomingMessage } from 'node:http';
import type { Budget } from '../budgets/create-budget.ts';
import { networkOfRequest, type TrustedProxies } from './network-of-request.ts';

/** What it takes of a budget in milliseconds. */
export type ReadMeter = Pick<Budget, 'charge' | 'isSpent' | 'mayBeSpent'>;

/** Nearly all answers out of memory take less; those are not worth knowing whose they are. */
const SLOW_MS = 1;

/** Charges reads that were slow to who asked for them. A read that is not costs two looks at the time. */
export interface MeasureReads {
  /** Whether this network has used up what it may. */
  isSpent(request: IncomingMessage): boolean;
  measure<T>(request: IncomingMessage, read: () => T): T;
}

export function createMeasureReads(meter: ReadMeter | undefined, proxies: TrustedProxies): MeasureReads {
  if (meter === undefined) return { isSpent: () => false, measure: (_request, read) => read() };
  return {
    isSpent: (request) => meter.mayBeSpent() && meter.isSpent(networkOfRequest(request, proxies)),
    measure: (request, read) => {
      const begun = performance.now();
      try {
        return read();
      } finally {
        const took = performance.now() - begun;
        if (took > SLOW_MS) meter.charge({ network: networkOfRequest(request, proxies) }, took);
      }
    },
  };
}
