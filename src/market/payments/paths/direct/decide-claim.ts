import type { Log, Receipt } from '../../../../platform/chain/reads.ts';
import {
  type FoundTransfer,
  isInBlock,
  type Sighting,
  sameLogs,
  type TransferEvidence,
} from '../../../../platform/chain/sighting.ts';
import { decodeAuthorizationUsed, decodeTransfer } from '../../../../platform/chain/usdc.ts';
import type { Hex } from '../../../../platform/hex.ts';
import type { DirectPayment } from '../../payment.ts';
import type { UnknownWhy } from '../x402/decide.ts';

/** One provider's evidence about a claimed transaction. `transfersInBlock` contains the block's transfers to the payee. */
export interface ClaimEvidence extends TransferEvidence {
  /**
   * Whether the transaction used the authorization of a payment in the ledger. Then it belongs to that payment, whatever the payment's
   * status.
   */
  isOfLedger: boolean;
}

/** Requirements for a claimed transfer. Taken from the ledger row, never from the current configuration. */
export interface ClaimTerms {
  chainId: bigint;
  asset: Hex;
  payer: Hex;
  payee: Hex;
  minimumUnits: bigint;
  /** Unix seconds. The block's time must be at or after `windowFrom` and before `windowTo`. */
  windowFrom: bigint;
  windowTo: bigint;
  /** Whether the buyer already has the goods. */
  surplus: boolean;
  /** When the maintainer removed the listing, in milliseconds. Null if not removed. */
  removedAt: number | null;
}

/** A refusal uses up neither the transaction nor the intent. */
export type ClaimRefused = 'transfer_not_found' | 'wrong_payer' | 'transaction_used';
/** Cases in which the payee has the payer's money and a person decides. */
export type ClaimReview =
  | 'authorized_transfer'
  | 'amount_too_little'
  | 'outside_window'
  | 'paid_after_removal'
  | 'already_bought';

export type ClaimDecision =
  | { outcome: 'settled'; transfer: FoundTransfer }
  | { outcome: 'refused'; reason: ClaimRefused }
  | { outcome: 'review'; reason: ClaimReview; transfer: FoundTransfer }
  | { outcome: 'unknown'; why: UnknownWhy; sighting: Sighting | null };

/** Decides on one claimed transaction; no other code does. Pure. Returns unknown if evidence is missing, not final or contradictory. */
export function decideClaim(evidence: ClaimEvidence, terms: ClaimTerms): ClaimDecision {
  const { finalized, receipt, block } = evidence;
  if (evidence.chainId !== terms.chainId) return unknown('wrong_chain');
  if (receipt === null) {
    // Any later transfer is outside the window. The buyer can claim it again, and then it is reviewed.
    const isWindowOver = finalized !== null && finalized.timestamp >= terms.windowTo;
    return isWindowOver ? { outcome: 'refused', reason: 'transfer_not_found' } : unknown('not_mined');
  }
  if (!isInBlock(receipt, block)) return unknown('not_canonical');
  if (!sameLogs(receipt, evidence.transfersInBlock, (log) => isToPayee(log, terms))) return unknown('contradiction');
  const sighting: Sighting = {
    txHash: receipt.transactionHash,
    blockNumber: receipt.blockNumber,
    blockHash: receipt.blockHash,
    blockTime: block.timestamp,
    sender: receipt.from,
  };
  if (finalized === null) return unknown('no_finalized_head', sighting);
  if (receipt.blockNumber > finalized.number) return unknown('not_final', sighting);
  if (receipt.blockNumber === finalized.number && receipt.blockHash !== finalized.hash) return unknown('contradiction');
  if (receipt.status !== 'success') {
    // A failed transaction has no logs. If the receipt has logs all the same, money may have moved, so do not refuse it.
    return receipt.logs.length > 0 ? unknown('contradiction') : { outcome: 'refused', reason: 'transfer_not_found' };
  }
  if (evidence.isOfLedger) return { outcome: 'refused', reason: 'transaction_used' };
  return decideTransfers(receipt, sighting, terms);
}

function unknown(why: UnknownWhy, sighting: Sighting | null = null): ClaimDecision {
  return { outcome: 'unknown', why, sighting };
}

function isToPayee(log: Log, { asset, payee }: ClaimTerms): boolean {
  return log.address === asset && decodeTransfer(log)?.to === payee;
}

interface Candidate {
  logIndex: number;
  from: Hex;
  value: bigint;
}

function decideTransfers(receipt: Receipt, sighting: Sighting, terms: ClaimTerms): ClaimDecision {
  const received = receipt.logs.flatMap((log) => candidateOf(log, terms));
  const own = received.filter(({ from }) => from === terms.payer);
  const [first] = own;
  if (first === undefined) {
    const byOther = received.some(({ value }) => value >= terms.minimumUnits);
    return { outcome: 'refused', reason: byOther ? 'wrong_payer' : 'transfer_not_found' };
  }
  const largest = own.reduce((most, one) => (one.value > most.value ? one : most), first);
  const transferBy = ({ logIndex, value }: Candidate): FoundTransfer => ({ ...sighting, logIndex, value });
  const review = (reason: ClaimReview, of: Candidate): ClaimDecision => ({
    outcome: 'review',
    reason,
    transfer: transferBy(of),
  });
  // The transaction used an authorization of the payer, as x402 does. It may pay for something else, so a person decides.
  if (receipt.logs.some((log) => isAuthorizedBy(log, terms))) return review('authorized_transfer', largest);
  // One log must reach the amount; partial amounts are not added up.
  const enough = own.find(({ value }) => value >= terms.minimumUnits);
  if (enough === undefined) return review('amount_too_little', largest);
  const { blockTime } = sighting;
  if (blockTime < terms.windowFrom || blockTime >= terms.windowTo) return review('outside_window', enough);
  if (terms.removedAt !== null && Number(blockTime) * 1000 >= terms.removedAt)
    return review('paid_after_removal', enough);
  if (terms.surplus) return review('already_bought', enough);
  return { outcome: 'settled', transfer: transferBy(enough) };
}

/** Skips transfers of 0, because anyone can send one in another's name. */
function candidateOf(log: Log, terms: ClaimTerms): Candidate[] {
  if (!isToPayee(log, terms)) return [];
  const transfer = decodeTransfer(log);
  return transfer === null || transfer.value === 0n
    ? []
    : [{ logIndex: log.logIndex, from: transfer.from, value: transfer.value }];
}

function isAuthorizedBy(log: Log, { asset, payer }: ClaimTerms): boolean {
  return log.address === asset && decodeAuthorizationUsed(log)?.authorizer === payer;
}

export function claimTermsOf(payment: DirectPayment, removedAt: Date | null): ClaimTerms {
  const toSeconds = (date: Date): bigint => BigInt(Math.floor(date.getTime() / 1000));
  return {
    chainId: payment.chainId,
    asset: payment.asset,
    payer: payment.payer,
    payee: payment.payee,
    minimumUnits: payment.valueUnits,
    windowFrom: toSeconds(payment.windowFrom),
    windowTo: toSeconds(payment.windowTo),
    surplus: payment.surplus,
    removedAt: removedAt?.getTime() ?? null,
  };
}
