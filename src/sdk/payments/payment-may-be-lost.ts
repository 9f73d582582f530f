import { z } from 'zod';
import type { MarketError } from '../market-error.ts';

const found = z.object({ tx_hash: z.string(), block: z.int() }).partial();

/**
 * The market has lost some of its books, and the chain shows a transfer of exactly this amount from this wallet to this payee that is in
 * none: perhaps the payment for this. Nothing was submitted. Find out what it paid for before calling again with `payAnew`.
 */
export class PaymentMayBeLost extends Error {
  override readonly name = 'PaymentMayBeLost';
  readonly doNotPayAgain = true;
  /** Null where the market did not say. */
  readonly txHash: string | null;
  readonly block: number | null;

  constructor(cause: MarketError) {
    super(
      `${cause.message} Nothing was submitted. If that transaction paid for this, do not pay again: keep what is stored, and ask the payee. ` +
        'If it paid for something else, call again with payAnew: true (and mayPayAgain: true, if a signature made before has run out)',
      { cause },
    );
    const { tx_hash, block } = found.catch({}).parse(cause.problem);
    this.txHash = tx_hash ?? null;
    this.block = block ?? null;
  }
}

/** What to throw in place of a refusal: with what was found and how to go on, where that is what it says. */
export function saidOf(error: MarketError): Error {
  return error.reason === 'payment_may_be_lost' ? new PaymentMayBeLost(error) : error;
}
