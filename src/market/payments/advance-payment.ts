import type { Driven, PathContext } from './paths/payment-path.ts';
import { pathOf } from './paths/payment-paths.ts';
import { isOpen, type Payment } from './payment.ts';
import { findPayment } from './store.ts';
import type { Proof, Terms } from './terms.ts';

/**
 * Moves a payment on as far as its proof and the chain allow: the proof is handed on, then the chain is read. A proof that is not the
 * payment's own moves nothing.
 */
export function createAdvance(context: PathContext, settle: (payment: Payment) => Promise<Payment>) {
  const drive = createDriver(context);

  return async function advance(given: Payment, proof: Proof | null, terms: Terms): Promise<Driven> {
    let { current, refusal }: Driven = { current: given, refusal: null };
    for (;;) {
      // What stands in a block is submitted already.
      const isDriven = proof !== null && current.blockNumber === null;
      if (isDriven && (await pathOf(current).mayDrive(context, current, proof))) {
        ({ current, refusal } = await drive(current, proof, terms));
      }
      current = await settle(current);
      // Its block is gone: it is handed on once more.
      const isGone = proof !== null && !isDriven && isOpen(current) && current.blockNumber === null;
      if (!isGone) return { current, refusal };
    }
  };
}

/** One driver per payment at a time, across all processes; others wait here or go by what the row says. */
function createDriver(context: PathContext) {
  const { database } = context.market;
  const underway = new Map<bigint, Promise<Driven>>();

  return async function drive(payment: Payment, proof: Proof, terms: Terms): Promise<Driven> {
    const running = underway.get(payment.id);
    if (running) return await running;
    const run = database
      .withAdvisoryLock(`payment:${payment.id}`, () => pathOf(payment).drive(context, payment, proof, terms))
      .then(async (held): Promise<Driven> => {
        return held?.value ?? { current: (await findPayment(database, payment.id)) ?? payment, refusal: null };
      });
    underway.set(payment.id, run);
    try {
      return await run;
    } finally {
      underway.delete(payment.id);
    }
  };
}
