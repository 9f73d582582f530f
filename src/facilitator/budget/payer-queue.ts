import type { Hex } from '../../platform/hex.ts';
import type { Limits } from './gas-budget.ts';

export interface QueuedSettlement {
  payer: Hex;
  value: bigint;
  inFlight(): { count: number; value: bigint };
  isTried(): boolean;
  readBalance(): Promise<bigint>;
  deadlineAt: number;
}

export type Admission = { leave(): void } | { kind: 'busy' } | { kind: 'late' };

/**
 * Admits one settlement of a payer at a time until one has succeeded, then as many as the payer's balance covers, up to
 * `in_flight_per_payer`.
 */
export interface PayerQueue {
  enter(settlement: QueuedSettlement): Promise<Admission>;
  wake(payer: Hex): void;
  waitingCount(): number;
  close(): void;
}

interface WaitingQueue {
  /** Settlements that were admitted and are still being sent. */
  entered: { value: bigint }[];
  waiting: Set<() => void>;
  /** Admission checks run one after the other, or two could count on the same balance. */
  admitting: Promise<unknown>;
}

async function mayEnter(limits: Limits, settlement: QueuedSettlement, queue: WaitingQueue): Promise<boolean> {
  const onChain = settlement.inFlight();
  const count = onChain.count + queue.entered.length;
  if (count === 0) return true;
  if (!settlement.isTried() || count >= limits.in_flight_per_payer) return false;
  const taken = queue.entered.reduce((sum, one) => sum + one.value, onChain.value);
  return (await settlement.readBalance()) >= taken + settlement.value;
}

export function createPayerQueue(limits: Limits, now: () => number): PayerQueue {
  const queues = new Map<Hex, WaitingQueue>();
  let waitingCount = 0;
  let closed = false;

  const wake = (payer: Hex): void => {
    for (const go of [...(queues.get(payer)?.waiting ?? [])]) go();
  };
  const tryEnter = (settlement: QueuedSettlement, queue: WaitingQueue): Promise<Admission | null> => {
    const admission = queue.admitting.then(async () => {
      if (closed || now() >= settlement.deadlineAt) return { kind: 'late' } as const;
      if (!(await mayEnter(limits, settlement, queue))) return null;
      const entered = { value: settlement.value };
      queue.entered.push(entered);
      return {
        leave: () => {
          const at = queue.entered.indexOf(entered);
          if (at >= 0) queue.entered.splice(at, 1);
          wake(settlement.payer);
          drop(settlement.payer, queue);
        },
      };
    });
    queue.admitting = admission.catch(() => undefined);
    return admission;
  };
  const drop = (payer: Hex, queue: WaitingQueue): void => {
    if (queue.entered.length === 0 && queue.waiting.size === 0 && queues.get(payer) === queue) queues.delete(payer);
  };

  return {
    enter: async (settlement) => {
      const queue = queues.get(settlement.payer) ?? { entered: [], waiting: new Set(), admitting: Promise.resolve() };
      queues.set(settlement.payer, queue);
      try {
        for (;;) {
          const woken = Promise.withResolvers<void>();
          // Register before the check, or an ending between the check and the wait would be missed.
          queue.waiting.add(woken.resolve);
          waitingCount += 1;
          try {
            const admission = await tryEnter(settlement, queue);
            if (admission !== null) return admission;
            if (queue.waiting.size > limits.waiting_per_payer || waitingCount > limits.waiting) return { kind: 'busy' };
            await woken.promise;
          } finally {
            queue.waiting.delete(woken.resolve);
            waitingCount -= 1;
          }
        }
      } finally {
        // Not after each check, because a queue dropped between two checks would never wake the settlement that still waits in it.
        drop(settlement.payer, queue);
      }
    },
    wake,
    waitingCount: () => waitingCount,
    close: () => {
      closed = true;
      for (const payer of [...queues.keys()]) wake(payer);
    },
  };
}
