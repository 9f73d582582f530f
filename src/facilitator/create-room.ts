import type { Limits } from './budget/limits.ts';
import { ChainTrouble } from './chain-trouble.ts';

/** At most so many transactions are in flight at once; what comes then waits in its order for one to end. */
export interface Room {
  /** Throws where too many wait already. What is returned gives the place back, once the journal counts it or nothing came of it. */
  enter(): Promise<() => void>;
  /** One has ended. */
  wake(): void;
  close(): void;
  isClosed(): boolean;
}

export function createRoom(limits: Pick<Limits, 'in_flight' | 'waiting'>, inFlight: () => number): Room {
  const waiting: (() => void)[] = [];
  /** Let in, and in flight or not: what is in flight of them is counted twice for the moment of its broadcast. */
  let entered = 0;
  let closed = false;
  const wake = (): void => {
    while (waiting.length > 0 && (closed || inFlight() + entered < limits.in_flight)) {
      entered += 1;
      waiting.shift()?.();
    }
  };
  return {
    enter: async () => {
      if (closed) throw new ChainTrouble('the facilitator is closing');
      if (waiting.length === 0 && inFlight() + entered < limits.in_flight) entered += 1;
      else {
        if (waiting.length >= limits.waiting) throw new ChainTrouble('too many settlements wait');
        await new Promise<void>((go) => waiting.push(go));
      }
      return () => {
        entered -= 1;
        wake();
      };
    },
    wake,
    close: () => {
      closed = true;
      wake();
    },
    isClosed: () => closed,
  };
}
