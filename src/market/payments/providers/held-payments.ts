import type { Objection } from '../../../platform/chain/judge-mined.ts';
import type { Provider } from '../../../platform/chain/provider.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Log } from '../../../platform/log.ts';

/** What was not asked about for so long was ended by another process. */
const FORGET_AFTER_MS = 300_000;

/** `use_without_transfer`: all say the same, and the token would work in another way than is known here. */
export type HeldFor = Objection | 'use_without_transfer';

export interface HeldPayments {
  /** True when that is news. `provider`: who says otherwise; null: none does. */
  note(paymentId: bigint, provider: Provider | null, why: HeldFor): boolean;
  release(paymentId: bigint): void;
  /** How many wait at the moment, by what for. */
  counts(): Record<HeldFor, number>;
}

/** The payments that could be decided if all providers said the same, and the token what it always says: one line in the log when one begins to wait, and their number. */
export function createHeldPayments(clock: Clock, log: Log): HeldPayments {
  const held = new Map<bigint, { why: HeldFor; seenAt: number }>();
  const forget = (): void => {
    for (const [id, { seenAt }] of held) if (clock.now() - seenAt > FORGET_AFTER_MS) held.delete(id);
  };
  return {
    note: (paymentId, provider, why) => {
      const isNews = held.get(paymentId)?.why !== why;
      held.set(paymentId, { why, seenAt: clock.now() });
      if (!isNews) return false;
      forget();
      const fields = { payment_id: paymentId, why, endpoint: provider?.endpoint };
      if (why === 'disagrees' || why === 'use_without_transfer') log.error('payment_held', fields);
      else log.warn('payment_held', fields);
      return true;
    },
    release: (paymentId) => {
      held.delete(paymentId);
    },
    counts: () => {
      forget();
      const counts = { silent: 0, behind: 0, disagrees: 0, use_without_transfer: 0 };
      for (const { why } of held.values()) counts[why] += 1;
      return counts;
    },
  };
}
