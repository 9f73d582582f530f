import type { Block, Log, Receipt } from '../../../../platform/chain/reads.ts';
import {
  type FinalizedHead,
  type FoundTransfer,
  isInBlock,
  type Sighting,
  sameLog,
  sameLogs,
} from '../../../../platform/chain/sighting.ts';
import {
  decodeAuthorizationCanceled,
  decodeAuthorizationUsed,
  decodeTransfer,
} from '../../../../platform/chain/usdc.ts';
import type { Hex } from '../../../../platform/hex.ts';
import type { X402Payment } from '../../payment.ts';

/** The use or cancellation of the authorization's nonce, and what the same provider says about that transaction. */
export interface Use {
  log: Log;
  receipt: Receipt | null;
  /** The block at the log's height. */
  block: Block | null;
  /** The payer's transfers of the token in that block, asked for by block hash: a second reading of the receipt's content. */
  transfersInBlock: Log[];
}

/** Evidence of one provider at one moment. */
export interface Evidence {
  chainId: bigint;
  latest: { number: bigint; timestamp: bigint };
  /** Null while no finalized head is acceptable. */
  finalized: FinalizedHead | null;
  /** authorizationState at the latest block; null if not asked. Also true after a cancellation. */
  nonceUsed: boolean | null;
  use: Use | null;
}

/** Requirements for an attempt. Taken from the ledger row, never from today's configuration. */
export interface AttemptTerms {
  chainId: bigint;
  asset: Hex;
  payer: Hex;
  payee: Hex;
  valueUnits: bigint;
  nonce: Hex;
  validBefore: bigint;
  openedBlock: bigint;
  /** True if the proof may ever have been handed to a facilitator for settlement. */
  mayBeSubmitted: boolean;
  /** Milliseconds: removal of the listing by the maintainer. */
  removedAt: number | null;
  /** An edit of the listing stopped the attempt before it was submitted: a transfer that arrives after all is not for these goods. */
  isStopped: boolean;
}

export type RefusedReason = 'expired' | 'canceled' | 'no_fitting_transfer';
export type ReviewReason = 'listing_removed' | 'listing_changed' | 'transaction_used' | 'used_before_opening';
export type UnknownWhy =
  | 'wrong_chain'
  | 'not_mined'
  | 'used_without_log'
  | 'receipt_missing'
  | 'use_without_transfer'
  | 'not_canonical'
  | 'contradiction'
  | 'no_finalized_head'
  | 'not_final';

export type Decision =
  | { outcome: 'settled'; transfer: FoundTransfer }
  | { outcome: 'refused'; reason: RefusedReason }
  | { outcome: 'review'; reason: ReviewReason; transfer: FoundTransfer }
  | { outcome: 'unknown'; why: UnknownWhy; sighting: Sighting | null };

/** Decides on one attempt; no other code does. Pure. Silence, disagreement and anything not final are unknown, never refused. */
export function decide(evidence: Evidence, terms: AttemptTerms): Decision {
  if (evidence.chainId !== terms.chainId) return unknown('wrong_chain');
  return evidence.use ? decideUse(evidence, evidence.use, terms) : decideAbsence(evidence, terms);
}

function unknown(why: UnknownWhy, sighting: Sighting | null = null): Decision {
  return { outcome: 'unknown', why, sighting };
}

function decideAbsence(evidence: Evidence, terms: AttemptTerms): Decision {
  if (evidence.nonceUsed === true) return unknown('used_without_log');
  if (evidence.nonceUsed === null) return unknown('not_mined');
  if (!terms.mayBeSubmitted && evidence.latest.timestamp > terms.validBefore) return refused('expired');
  // A block at or past validBefore is final and the nonce is unused at the same provider's latest: no later block can use it.
  if (evidence.finalized && evidence.finalized.timestamp >= terms.validBefore) return refused('expired');
  return unknown('not_mined');
}

function refused(reason: RefusedReason): Decision {
  return { outcome: 'refused', reason };
}

function decideUse(evidence: Evidence, use: Use, terms: AttemptTerms): Decision {
  const { log, receipt, block } = use;
  if (receipt === null) return unknown('receipt_missing');
  if (!isCanonical(use, receipt, block)) return unknown('not_canonical');
  if (!isConsistent(use, receipt, terms)) return unknown('contradiction');
  const sighting: Sighting = {
    txHash: log.transactionHash,
    blockNumber: log.blockNumber,
    blockHash: log.blockHash,
    blockTime: block.timestamp,
    sender: receipt.from,
  };
  const { finalized } = evidence;
  if (finalized === null) return unknown('no_finalized_head', sighting);
  if (log.blockNumber > finalized.number) return unknown('not_final', sighting);
  if (log.blockNumber === finalized.number && log.blockHash !== finalized.hash) return unknown('contradiction');
  return decideFinalUse(use, receipt, sighting, terms);
}

function isCanonical(use: Use, receipt: Receipt, block: Block | null): block is Block {
  return (
    isInBlock(receipt, block) &&
    block.number === use.log.blockNumber &&
    block.hash === use.log.blockHash &&
    receipt.transactionHash === use.log.transactionHash
  );
}

/** Requires a successful receipt with the very log that led here, and the same transfers by the payer as in the block's log index. */
function isConsistent(use: Use, receipt: Receipt, terms: AttemptTerms): boolean {
  if (receipt.status !== 'success' || use.log.removed || use.log.address !== terms.asset) return false;
  const event = decodeAuthorizationUsed(use.log) ?? decodeAuthorizationCanceled(use.log);
  if (event === null || event.authorizer !== terms.payer || event.nonce !== terms.nonce) return false;
  if (!receipt.logs.some((log) => sameLog(log, use.log))) return false;
  const isByPayer = (log: Log): boolean => log.address === terms.asset && decodeTransfer(log)?.from === terms.payer;
  return sameLogs(receipt, use.transfersInBlock, isByPayer);
}

function decideFinalUse(use: Use, receipt: Receipt, sighting: Sighting, terms: AttemptTerms): Decision {
  if (decodeAuthorizationUsed(use.log) === null) return refused('canceled');
  const made = transferOf(use, receipt, terms);
  if (made === null) return unknown('use_without_transfer', sighting);
  if (made.to !== terms.payee || made.value !== terms.valueUnits) return refused('no_fitting_transfer');
  const transfer = { ...sighting, logIndex: made.logIndex, value: made.value };
  // The money did reach the payee: a reviewer decides what it was for, and the buyer must not pay meanwhile.
  if (sighting.blockNumber <= terms.openedBlock) return { outcome: 'review', reason: 'used_before_opening', transfer };
  if (terms.removedAt !== null && Number(sighting.blockTime) * 1000 >= terms.removedAt) {
    return { outcome: 'review', reason: 'listing_removed', transfer };
  }
  if (terms.isStopped) return { outcome: 'review', reason: 'listing_changed', transfer };
  return { outcome: 'settled', transfer };
}

/**
 * Finds the transfer that this authorization made. The token writes it directly after `AuthorizationUsed`, in every function that uses a
 * nonce; any later transfer in the transaction belongs to something else. Null if another kind of log stands there: then the token works in
 * a way this code does not know.
 */
function transferOf(
  use: Use,
  receipt: Receipt,
  terms: AttemptTerms,
): { logIndex: number; to: Hex; value: bigint } | null {
  const log = receipt.logs.find(({ logIndex }) => logIndex === use.log.logIndex + 1);
  const transfer = log?.address === terms.asset ? decodeTransfer(log) : null;
  if (log === undefined || transfer?.from !== terms.payer) return null;
  return { logIndex: log.logIndex, to: transfer.to, value: transfer.value };
}

export function attemptTermsOf(payment: X402Payment, removedAt: Date | null): AttemptTerms {
  return {
    chainId: payment.chainId,
    asset: payment.asset,
    payer: payment.payer,
    payee: payment.payee,
    valueUnits: payment.valueUnits,
    nonce: payment.nonce,
    validBefore: payment.validBefore,
    openedBlock: payment.openedBlock,
    mayBeSubmitted: payment.status !== 'verifying',
    removedAt: removedAt?.getTime() ?? null,
    isStopped: payment.stoppedAt !== null,
  };
}
