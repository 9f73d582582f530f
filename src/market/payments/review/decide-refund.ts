import type { Block, Log, Receipt } from '../../../platform/chain/reads.ts';
import { type FinalizedHead, type FoundTransfer, sameLogs, stands } from '../../../platform/chain/sighting.ts';
import { decodeTransfer } from '../../../platform/chain/usdc.ts';
import type { Hex } from '../../../platform/hex.ts';

/** What one provider shows of the transaction that is said to give the money back. */
export interface RefundEvidence {
  chainId: bigint;
  finalized: FinalizedHead | null;
  receipt: Receipt | null;
  /** The block at the receipt's height. */
  block: Block | null;
  /** The token's transfers to the payer in that block, asked for by block hash. */
  transfersInBlock: Log[];
}

export interface RefundTerms {
  chainId: bigint;
  asset: Hex;
  /** The payee of the payment, who gives back. */
  from: Hex;
  /** The payer of the payment. */
  to: Hex;
  /** What was received. */
  minimumUnits: bigint;
  /** The payment's block: a refund comes later. */
  afterBlock: bigint;
}

export type RefundDecision =
  | { outcome: 'refunded'; transfer: FoundTransfer }
  | { outcome: 'refused' }
  | { outcome: 'unknown' };

/** Whether a transaction gives a payment back: pure. What is not final, or contradicts itself, is unknown. */
export function decideRefund(evidence: RefundEvidence, terms: RefundTerms): RefundDecision {
  const { chainId, finalized, receipt, block } = evidence;
  const isToPayer = (log: Log): boolean => log.address === terms.asset && decodeTransfer(log)?.to === terms.to;
  if (chainId !== terms.chainId || finalized === null || receipt === null || !stands(receipt, block)) {
    return { outcome: 'unknown' };
  }
  const { blockNumber, blockHash } = receipt;
  const isFinal = blockNumber < finalized.number || (blockNumber === finalized.number && blockHash === finalized.hash);
  if (!isFinal || !sameLogs(receipt, evidence.transfersInBlock, isToPayer)) return { outcome: 'unknown' };
  if (receipt.status !== 'success' || blockNumber <= terms.afterBlock) return { outcome: 'refused' };
  for (const log of receipt.logs) {
    const transfer = isToPayer(log) ? decodeTransfer(log) : null;
    if (transfer?.from !== terms.from || transfer.value < terms.minimumUnits) continue;
    const found = { logIndex: log.logIndex, value: transfer.value, sender: receipt.from, blockTime: block.timestamp };
    return { outcome: 'refunded', transfer: { ...found, txHash: receipt.transactionHash, blockNumber, blockHash } };
  }
  return { outcome: 'refused' };
}
