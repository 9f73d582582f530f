import type { PaymentQuestion, ProvidersHealth } from '../../../platform/chain/providers.ts';
import type { Rpc } from '../../../platform/chain/rpc.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Payment } from '../payment.ts';

/** One reading of several payments of the same path. */
interface PathReading {
  rpc: Rpc;
  path: Payment['path'];
  about: PaymentQuestion;
  payments: readonly Pick<Payment, 'id'>[];
  /** Results by payment, without payments that failed on their own. Null if the shared part of the reading failed, usually the logs. */
  shown: ReadonlyMap<bigint, unknown> | null;
}

/** Counts, for operators, open payments whose state on the chain cannot be read. */
export interface UnreadablePayments {
  note(reading: PathReading): void;
  count(): number;
  /** Whether a whole reading failed in the last minute. Then no payment of that path can end. */
  isFailing(): boolean;
}

/** Open payments are read at least twice a minute, so an older failure says nothing about now. */
const FORGET_AFTER_MS = 60_000;

/** Also reports failed readings to the provider's health, so that a leader that cannot answer about payments for a minute is replaced. */
export function createUnreadablePayments(clock: Clock, providerHealth: ProvidersHealth): UnreadablePayments {
  const unreadable = new Map<bigint, number>();
  const failures = new Map<Payment['path'], number>();
  const countRecent = <Key>(times: Map<Key, number>): number => {
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
    count: () => countRecent(unreadable),
    isFailing: () => countRecent(failures) > 0,
  };
}
