import type { Market } from '../context.ts';
import type { Driven, Driver } from './paths/x402/drive-payment.ts';
import { mayDrive } from './paths/x402/may-drive.ts';
import { isOpen, type Payment } from './payment.ts';
import type { Proof, Terms } from './terms.ts';

/**
 * Moves a payment on as far as its proof and the chain allow: the proof goes to the facilitator, then the chain is read. A proof that is not the
 * payment's own moves nothing.
 */
export function createAdvance(market: Market, drive: Driver, settle: (payment: Payment) => Promise<Payment>) {
  return async function advance(given: Payment, proof: Proof | null, terms: Terms): Promise<Driven> {
    let { current, refusal }: Driven = { current: given, refusal: null };
    for (;;) {
      // What stands in a block needs no facilitator.
      const isDriven = proof !== null && current.blockNumber === null;
      if (isDriven && (await mayDrive(market, current, proof)))
        ({ current, refusal } = await drive(current, proof, terms));
      current = await settle(current);
      // Its block is gone: it is handed on once more.
      const isGone = proof !== null && !isDriven && isOpen(current) && current.blockNumber === null;
      if (!isGone) return { current, refusal };
    }
  };
}
