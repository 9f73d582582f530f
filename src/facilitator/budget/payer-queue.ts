import type { Hex } from '../../platform/hex.ts';
import type { Limits } from './gas-budget.ts';

export interface QueuedSettlement {
  payer: Hex;
  value: bigint;
  /** What is in flight of this payer on the chain. */
  inFlight(): { count: number; value: bigint };
  /** Whether its last settlement went through. */
  isTried(): boolean;
  readBalance(): Promise<bigint>;
  /** Until then it waits. */
  deadlineAt: number;
}

export type Admission = { leave(): void } | { kind: 'busy' } | { kind: 'late' };

/** One settlement of a payer at a time until one has gone through; then as many as its balance covers. */
export interface PayerQueue {
  enter(settlement: QueuedSettlement): Promise<Admission>;
  /** Something of this payer has ended. */
  wake(payer: Hex): void;
  waiting(): number;
  close(): void;
}

interface Line {
  /** Let in, and not in flight on the chain yet. */
  entered: { value: bigint }[];
  waiting: Set<() => void>;
  /** One after the other is looked at, or two could count on the same balance. */
  admitting: Promise<unknown>;
}

async function mayEnter(limits: Limits, settlement: QueuedSettlement, line: Line): Promise<boolean> {
  const onChain = settlement.inFlight();
  const count = onChain.count + line.entered.length;
  if (count === 0) return true;
  if (!settlement.isTried() || count >= limits.in_flight_per_payer) return false;
  const taken = line.entered.reduce((sum, one) => sum + one.value, onChain.value);
  return (await settlement.readBalance()) >= taken + settlement.value;
}

export function createPayerQueue(limits: Limits, now: () => number): PayerQueue {
  const lines = new Map<Hex, Line>();
  let waiting = 0;
  let closed = false;

  const wake = (payer: Hex): void => {
    for (const go of [...(lines.get(payer)?.waiting ?? [])]) go();
  };
  const tryEnter = (settlement: QueuedSettlement, line: Line): Promise<Admission | null> => {
    const admission = line.admitting.then(async () => {
      if (closed || now() >= settlement.deadlineAt) return { kind: 'late' } as const;
      if (!(await mayEnter(limits, settlement, line))) return null;
      const entered = { value: settlement.value };
      line.entered.push(entered);
      return {
        leave: () => {
          const at = line.entered.indexOf(entered);
          if (at >= 0) line.entered.splice(at, 1);
          wake(settlement.payer);
          drop(settlement.payer, line);
        },
      };
    });
    line.admitting = admission.catch(() => undefined);
    return admission;
  };
  const drop = (payer: Hex, line: Line): void => {
    if (line.entered.length === 0 && line.waiting.size === 0 && lines.get(payer) === line) lines.delete(payer);
  };

  return {
    enter: async (settlement) => {
      const line = lines.get(settlement.payer) ?? { entered: [], waiting: new Set(), admitting: Promise.resolve() };
      lines.set(settlement.payer, line);
      try {
        for (;;) {
          const woken = Promise.withResolvers<void>();
          // Before the look, so that an end between look and wait is not slept through.
          line.waiting.add(woken.resolve);
          waiting += 1;
          try {
            const admission = await tryEnter(settlement, line);
            if (admission !== null) return admission;
            if (line.waiting.size > limits.waiting_per_payer || waiting > limits.waiting) return { kind: 'busy' };
            await woken.promise;
          } finally {
            line.waiting.delete(woken.resolve);
            waiting -= 1;
          }
        }
      } finally {
        // Not between two looks: who waits in a line that is forgotten is never woken.
        drop(settlement.payer, line);
      }
    },
    wake,
    waiting: () => waiting,
    close: () => {
      closed = true;
      for (const payer of [...lines.keys()]) wake(payer);
    },
  };
}
