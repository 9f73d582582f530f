import { createPasses, type Passes } from '../../platform/create-passes.ts';
import type { FollowedHead } from './head/follow-heads.ts';
import type { WhenToLook } from './head/when-to-look.ts';
import type { PathContext } from './paths/payment-path.ts';
import { pathOf } from './paths/payment-paths.ts';
import { isOpen, type Payment } from './payment.ts';
import { createPaymentReader, type Shown } from './read-payments.ts';
import { findPayment } from './store.ts';

/** Requests that look at one payment share a reading. Null: it shows nothing new. */
interface Underway {
  /** As it was read last by any of them. */
  newest: Payment;
  users: number;
  passes: Passes<Payment | null>;
}

interface SettlerNeeds {
  readHead(): Promise<FollowedHead>;
  isFarFromFinal: WhenToLook['isFarFromFinal'];
}

/** Moves payments on by what the chain shows. */
export function createSettler(context: PathContext, { readHead, isFarFromFinal }: SettlerNeeds) {
  const underway = new Map<bigint, Underway>();
  const reader = createPaymentReader({ context, readHead });

  async function decide({ payment, evidence }: Shown): Promise<Payment> {
    return await pathOf(payment).decide(context, payment, evidence as never);
  }
  async function settleOne(payment: Payment): Promise<Payment | null> {
    const shown = await reader.readOne(payment);
    return shown === undefined ? null : await decide(shown);
  }
  function share(payment: Payment): Underway {
    const started: Underway = { newest: payment, users: 0, passes: createPasses(() => settleOne(started.newest)) };
    return started;
  }

  return {
    /**
     * Reads the chain about one open payment and moves it as far as that allows. An unreadable chain changes nothing, and a payment that is
     * seconds from final is not read: the background pass sees a reorganisation.
     */
    async settle(payment: Payment): Promise<Payment> {
      if (!isOpen(payment) || (await isFarFromFinal(payment))) return payment;
      const shared = underway.get(payment.id) ?? share(payment);
      underway.set(payment.id, shared);
      if (payment.updatedAt > shared.newest.updatedAt) shared.newest = payment;
      shared.users += 1;
      try {
        const current = (await shared.passes.fresh()) ?? payment;
        // Another request may have submitted it meanwhile: then no answer may say that nothing was taken.
        if (current.status !== 'verifying') return current;
        return (await findPayment(context.market.database, payment.id)) ?? current;
      } finally {
        shared.users -= 1;
        if (shared.users === 0) underway.delete(payment.id);
      }
    },
    /** Looks at what a claim that has been decided on names besides. An unreadable chain changes nothing. */
    async readSurplus(claim: Payment): Promise<void> {
      await settleOne(claim);
    },
    /** The same for many payments, with one reading of what they share. */
    async settleMany(payments: readonly Payment[], head: FollowedHead): Promise<void> {
      for (const shown of (await reader.readMany(payments, head)).values()) {
        try {
          await decide(shown);
        } catch (error) {
          // One payment that cannot be ended must not keep the others waiting; it is looked at again in the next pass.
          context.market.log.error('payment_not_ended', { payment_id: shown.payment.id, error });
        }
      }
    },
  };
}
