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

/** The use or cancellation of the authorization's nonce, with the same provider's data on that transaction. */
export interface Use {
  log: Log;
  receipt: Receipt | null;
  /** The block at the log's height. Null if the provider has none. */
  block: Block | null;
  /** The payer's transfers of the token in that block, queried by block hash as a second reading of the receipt's content. */
  transfersInBlock: Log[];
}

/** Evidence from one provider at one moment. */
export interface Evidence {
  chainId: bigint;
  latest: { number: bigint; timestamp: bigint };
  /** Null while no finalized head is accepted. */
  finalized: FinalizedHead | null;
  /** `authorizationState` at the latest block, which is also true after a cancellation. Null if not asked. */
  nonceUsed: boolean | null;
  use: Use | null;
}

/** Requirements for an attempt. Taken from the ledger row, never from the current configuration. */
export interface AttemptTerms {
  chainId: bigint;
  asset: Hex;
  payer: Hex;
  payee: Hex;
  valueUnits: bigint;
  nonce: Hex;
  validBefore: bigint;
  openedBlock: bigint;
  /** Whether the proof may have been sent to a facilitator for settlement. */
  mayBeSubmitted: boolean;
  /** When the maintainer removed the listing, in milliseconds. Null if not removed. */
  removedAt: number | null;
  /** Whether an edit stopped the attempt before it was submitted. A transfer that still arrives is not for the edited goods. */
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

/** Decides on one attempt; no other code does. Pure. Anything missing, contradictory or not final is unknown, never refused. */
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
  // A block at or past validBefore is final, and the nonce is unused at the same provider's latest block, so no later block can use it.
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

/** Requires a successful receipt that contains this log, and the same transfers by the payer as the logs read for the block. */
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
  // The payee did receive the money, so a person decides what it was for, and the buyer must not pay meanwhile.
  if (sighting.blockNumber <= terms.openedBlock) return { outcome: 'review', reason: 'used_before_opening', transfer };
  if (terms.removedAt !== null && Number(sighting.blockTime) * 1000 >= terms.removedAt) {
    return { outcome: 'review', reason: 'listing_removed', transfer };
  }
  if (terms.isStopped) return { outcome: 'review', reason: 'listing_changed', transfer };
  return { outcome: 'settled', transfer };
}

/**
 * Finds the transfer that this authorization made. In every function that uses a nonce, the token logs it directly after
 * `AuthorizationUsed`; a later transfer in the transaction belongs to something else. Returns null if another log is there, because then
 * the token works in a way that this code does not know.
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
