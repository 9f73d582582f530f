import type { PaymentQuestion, ProvidersHealth } from '../../../platform/chain/providers.ts';
import type { Rpc } from '../../../platform/chain/rpc.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Payment } from '../payment.ts';

/** One reading of some payments of one path. */
interface PathReading {
  /** The provider that leads. */
  rpc: Rpc;
  path: Payment['path'];
  about: PaymentQuestion;
  payments: readonly Pick<Payment, 'id'>[];
  /** By payment, without those that could not be read by themselves. Null where what all share, the logs as a rule, could not be read. */
  shown: ReadonlyMap<bigint, unknown> | null;
}

/** Open payments of which the chain shows nothing, since it cannot be read: for operators. */
export interface UnreadablePayments {
  note(reading: PathReading): void;
  /** How many could not be read when they were last asked about. */
  count(): number;
  /** Whether a reading failed as a whole just now: then no payment of that path ends. */
  isFailing(): boolean;
}

/** Readings of open payments come at least twice a minute. A process that made one and then none knows nothing more. */
const FORGET_AFTER_MS = 60_000;

/** A provider that leads and cannot say anything about payments for a minute is left out like any other, so that the next one leads. */
export function createUnreadablePayments(clock: Clock, providerHealth: ProvidersHealth): UnreadablePayments {
  const unreadable = new Map<bigint, number>();
  const failures = new Map<Payment['path'], number>();
  const forget = <Key>(times: Map<Key, number>): number => {
    for (const [key, at] of times) if (clock.now() - at > FORGET_AFTER_MS) times.delete(key);
    return times.size;
  };
  return {
    note: ({ rpc, path, about, payments, shown }) => {
      if (payments.length === 0) return;
      const now = clock.now();
      for (const { id } of payments) {
        if (shown?.has(id)) unreadable.delete(id);
        else unreadable.set(id, now);
      }
      if (shown === null) failures.set(path, now);
      else failures.delete(path);
      const health = providerHealth.all.find(({ provider }) => provider === rpc);
      health?.noteAnswer(about, shown !== null);
    },
    count: () => forget(unreadable),
    isFailing: () => forget(failures) > 0,
  };
}
