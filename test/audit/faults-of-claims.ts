import { isOpen, nameOf, type Scene } from './faults-of-payments.ts';
import type { ClaimedHash, PaymentLine } from './read-books.ts';
import { authorizationsIn, type Chain, movesOf } from './read-chain.ts';

/** Clock of the market and time of the chain differ that much at most, in milliseconds. */
const SKEW_MS = 30_000;

/** It was not mined when the window was over and the claim ended (W8): then it can be claimed again, and is no fault. */
async function cameAfterAll(chain: Chain, line: PaymentLine, height: number): Promise<boolean> {
  const second = Number((await chain.block(height))?.timestamp ?? 0);
  return second >= (line.window_to ?? Infinity) && second * 1000 >= (line.ended_at ?? Infinity) - SKEW_MS;
}

/** Every final transaction that was claimed and that moved the payer's money to the payee proves something. */
export function createClaimsCheck({ books, chain, token }: Scene): (claim: ClaimedHash) => Promise<string[]> {
  const lines = new Map(books.payments.map((line) => [line.id, line]));
  const proven = new Set(books.payments.flatMap((line) => [line.proof_hash, line.refund_hash]));
  const ledger = new Set(books.payments.map((line) => `${line.payer} ${line.nonce}`));
  return async ({ payment_id, tx_hash }) => {
    const line = lines.get(payment_id);
    const receipt = await chain.receipt(tx_hash);
    if (line === undefined || receipt === null || Number(receipt.blockNumber) > chain.final.number) return [];
    const pays = movesOf(receipt, token).some(
      ({ from, to, units }) => from === line.payer && to === line.payee && units > 0n,
    );
    const isOther = authorizationsIn(receipt.logs, token).some((use) => ledger.has(use));
    // Also surplus to the transfer that ended the claim has a record of its own.
    if (!pays || isOther || proven.has(tx_hash) || isOpen(line)) return [];
    if (await cameAfterAll(chain, line, Number(receipt.blockNumber))) return [];
    return [`${nameOf(line)} ended ${line.status}, and ${tx_hash} paid for it`];
  };
}
