import type { Block, Log, Receipt } from '../../../platform/chain/reads.ts';
import { type FinalizedHead, type FoundTransfer, sameLogs, stands } from '../../../platform/chain/sighting.ts';
import { decodeTransfer, type Transfer } from '../../../platform/chain/usdc.ts';
import type { Hex } from '../../../platform/hex.ts';
import type { UnknownWhy } from '../../payments/paths/x402/decide.ts';

/** What one provider shows of the transaction by which an offer was claimed, all of one moment. */
export interface SaleEvidence {
  chainId: bigint;
  /** Null while no finalized head is acceptable, or another provider does not bear it out. */
  finalized: FinalizedHead | null;
  receipt: Receipt | null;
  /** The block at the receipt's height. */
  block: Block | null;
  /** The token's transfers to the payee in that block, asked for by block hash: a second reading of what the receipt says. */
  transfersInBlock: Log[];
  /** It used an authorization of the ledger: then it belongs to that payment, whatever became of it. */
  isOfLedger: boolean;
}

/** In what the reservation, as the city tells of it, is none of a checkout here. */
export type ReservationFault = 'checkout_mismatch' | 'reservation_mismatch' | 'own_goods';

/** What the transfer has to be: price and payee from the listing, payer and window from the reservation in the city. */
export interface SaleTerms {
  chainId: bigint;
  asset: Hex;
  payer: Hex;
  payee: Hex;
  minimumUnits: bigint;
  /** Seconds: the block's time must be at or after `windowFrom` and before `windowTo`. */
  windowFrom: bigint;
  windowTo: bigint;
  fault: ReservationFault | null;
}

/** Preserved for good: the city has given the thing away, and the market cannot call it a sale. */
export type SaleReview =
  | ReservationFault
  | 'transfer_not_found'
  | 'wrong_payer'
  | 'amount_too_little'
  | 'outside_window'
  | 'transaction_used';

export type SaleDecision =
  | { outcome: 'settled'; transfer: FoundTransfer }
  | { outcome: 'review'; reason: SaleReview }
  | { outcome: 'unknown'; why: UnknownWhy };

/**
 * The verdict on an offer that the city calls claimed: pure, and the only place that gives one. Evidence that is missing, not final or
 * contradictory means unknown, for as long as it takes. So does a transaction that no provider shows: a review is for good, and rests on
 * a final one.
 */
export function decideSale(evidence: SaleEvidence, terms: SaleTerms): SaleDecision {
  const { finalized, receipt, block } = evidence;
  if (evidence.chainId !== terms.chainId) return unknown('wrong_chain');
  if (receipt === null) return unknown('not_mined');
  if (!stands(receipt, block)) return unknown('not_canonical');
  if (!sameLogs(receipt, evidence.transfersInBlock, (log) => transferIn(log, terms) !== null))
    return unknown('contradiction');
  if (finalized === null) return unknown('no_finalized_head');
  if (receipt.blockNumber > finalized.number) return unknown('not_final');
  if (receipt.blockNumber === finalized.number && receipt.blockHash !== finalized.hash) return unknown('contradiction');
  if (receipt.status !== 'success') {
    // What failed leaves no logs: money may have moved all the same.
    return receipt.logs.length > 0 ? unknown('contradiction') : review('transfer_not_found');
  }
  if (evidence.isOfLedger) return review('transaction_used');
  if (terms.fault !== null) return review(terms.fault);
  return decideTransfers(receipt, block, terms);
}

function decideTransfers(receipt: Receipt, block: Block, terms: SaleTerms): SaleDecision {
  const received = receipt.logs.flatMap((log) => paymentIn(log, terms));
  const own = received.filter(({ from }) => from === terms.payer);
  if (own.length === 0) {
    const byOther = received.some(({ value }) => value >= terms.minimumUnits);
    return review(byOther ? 'wrong_payer' : 'transfer_not_found');
  }
  // One log has to be enough; parts are not added up.
  const enough = own.find(({ value }) => value >= terms.minimumUnits);
  if (enough === undefined) return review('amount_too_little');
  if (block.timestamp < terms.windowFrom || block.timestamp >= terms.windowTo) return review('outside_window');
  return {
    outcome: 'settled',
    transfer: {
      txHash: receipt.transactionHash,
      blockNumber: receipt.blockNumber,
      blockHash: receipt.blockHash,
      blockTime: block.timestamp,
      sender: receipt.from,
      logIndex: enough.logIndex,
      value: enough.value,
    },
  };
}

/** Anybody can send nothing in another's name: a transfer of 0 is none. */
function paymentIn(log: Log, terms: SaleTerms): (Transfer & { logIndex: number })[] {
  const transfer = transferIn(log, terms);
  return transfer === null || transfer.value === 0n ? [] : [{ ...transfer, logIndex: log.logIndex }];
}

function transferIn(log: Log, { asset, payee }: SaleTerms): Transfer | null {
  const transfer = log.address === asset ? decodeTransfer(log) : null;
  return transfer?.to === payee ? transfer : null;
}

function unknown(why: UnknownWhy): SaleDecision {
  return { outcome: 'unknown', why };
}

function review(reason: SaleReview): SaleDecision {
  return { outcome: 'review', reason };
}
