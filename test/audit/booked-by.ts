import { isBooked, isOpen, type Scene } from './faults-of-payments.ts';
import type { Arrival } from './incoming.ts';
import { authorizationsIn } from './read-chain.ts';

/** Whether the books know of a transfer: as a proof, as a refund, as what a payment in its state has seen, or as under way. */
export function createBookedBy({ books, chain, token }: Scene): (arrival: Arrival) => Promise<boolean> {
  const proven = new Set(books.proofs.map(({ tx_hash, log_index }) => `${tx_hash} ${log_index ?? 'all'}`));
  const living = new Set(books.payments.filter((line) => isOpen(line) || isBooked(line)).map(({ id }) => id));
  const claimed = new Set(books.claimed.filter((one) => living.has(one.payment_id)).map(({ tx_hash }) => tx_hash));
  const open = books.payments.filter(isOpen);
  const expected = new Set(open.map(({ payer, payee }) => `${payer} ${payee}`));
  const nonces = new Set(open.map(({ payer, nonce }) => `${payer} ${nonce}`));
  return async ({ txHash, logIndex, from, to }) => {
    if (proven.has(`${txHash} ${logIndex}`) || proven.has(`${txHash} all`) || claimed.has(txHash)) return true;
    // On its way: seen by the chain and not yet by the market.
    if (!expected.has(`${from} ${to}`)) return false;
    const receipt = await chain.receipt(txHash);
    return authorizationsIn(receipt?.logs ?? [], token).some((use) => nonces.has(use));
  };
}
