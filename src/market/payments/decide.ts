import type { Block, Log, Receipt } from '../../platform/chain/reads.ts';
import { decodeAuthorizationCanceled, decodeAuthorizationUsed, decodeTransfer } from '../../platform/chain/usdc.ts';
import type { Hex } from '../../platform/hex.ts';

/** A finalized block that passed every check of accept-head.ts. */
export interface FinalizedHead {
  number: bigint;
  hash: Hex;
  /** Seconds. */
  timestamp: bigint;
}

/** Where the authorization's nonce was used or cancelled, and what the same provider says about that transaction. */
export interface Use {
  log: Log;
  receipt: Receipt | null;
  /** The block at the log's height. */
  block: Block | null;
  /** The payer's transfers of the token in that block, asked for by block hash: a second reading of what the receipt says. */
  transfersInBlock: Log[];
}

/** All of one provider, of one moment. */
export interface Evidence {
  chainId: bigint;
  latest: { number: bigint; timestamp: bigint };
  /** Null while no finalized head is acceptable. */
  finalized: FinalizedHead | null;
  /** authorizationState at latest; null when it was not asked. True also after a cancellation. */
  nonceUsed: boolean | null;
  use: Use | null;
}

/** What an attempt needs to be true. Comes from the ledger row, never from today's configuration. */
export interface AttemptTerms {
  chainId: bigint;
  asset: Hex;
  payer: Hex;
  payee: Hex;
  valueUnits: bigint;
  nonce: Hex;
  validBefore: bigint;
  openedBlock: bigint;
  /** Whether the proof may ever have been handed to a facilitator for settlement. */
  mayBeSubmitted: boolean;
  /** Milliseconds: removal of the listing by the maintainer. */
  removedAt: number | null;
}

export interface Sighting {
  txHash: Hex;
  blockNumber: bigint;
  blockHash: Hex;
  /** Seconds. */
  blockTime: bigint;
  /** Who sent the transaction; says nothing about who paid. */
  sender: Hex;
}

/** One transfer among those of its transaction. */
export interface FoundTransfer extends Sighting {
  logIndex: number;
  /** Units. */
  value: bigint;
}

export type RefusedReason = 'expired' | 'canceled' | 'no_fitting_transfer';
export type ReviewReason = 'listing_removed' | 'transaction_used' | 'used_before_opening';
export type UnknownWhy =
  | 'wrong_chain'
  | 'not_mined'
  | 'used_without_log'
  | 'receipt_missing'
  | 'not_canonical'
  | 'contradiction'
  | 'no_finalized_head'
  | 'not_final';

export type Decision =
  | { outcome: 'settled'; transfer: FoundTransfer }
  | { outcome: 'refused'; reason: RefusedReason }
  | { outcome: 'review'; reason: ReviewReason; transfer: FoundTransfer }
  | { outcome: 'unknown'; why: UnknownWhy; sighting: Sighting | null };

/**
 * The verdict on one attempt: pure, and the only place that gives one. Silence, disagreement and what is not final are all
 * `unknown`, which is looked at again; nothing unknown ever becomes refused here.
 */
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
    stands(receipt, block) &&
    block.number === use.log.blockNumber &&
    block.hash === use.log.blockHash &&
    receipt.transactionHash === use.log.transactionHash
  );
}

/** Whether the block of that height is the receipt's own, and lists its transaction. */
export function stands(receipt: Receipt, block: Block | null): block is Block {
  return (
    block !== null &&
    receipt.blockHash === block.hash &&
    receipt.blockNumber === block.number &&
    block.transactions.includes(receipt.transactionHash)
  );
}

/** A successful receipt that holds the very log that led here, and the same transfers of the payer as the block's own log index. */
function isConsistent(use: Use, receipt: Receipt, terms: AttemptTerms): boolean {
  if (receipt.status !== 'success' || use.log.removed || use.log.address !== terms.asset) return false;
  const event = decodeAuthorizationUsed(use.log) ?? decodeAuthorizationCanceled(use.log);
  if (event === null || event.authorizer !== terms.payer || event.nonce !== terms.nonce) return false;
  if (!receipt.logs.some((log) => sameLog(log, use.log))) return false;
  const isByPayer = (log: Log): boolean => log.address === terms.asset && decodeTransfer(log)?.from === terms.payer;
  return sameLogs(receipt, use.transfersInBlock, isByPayer);
}

/** Whether the receipt and the block's own log index hold the same logs of that kind for the transaction. */
export function sameLogs(receipt: Receipt, inBlock: readonly Log[], isWanted: (log: Log) => boolean): boolean {
  const ofReceipt = receipt.logs.filter(isWanted);
  const ofBlock = inBlock.filter((log) => isWanted(log) && log.transactionHash === receipt.transactionHash);
  // All logs of a transaction share its fate.
  if (receipt.logs.some((log) => log.removed)) return false;
  return ofReceipt.length === ofBlock.length && ofReceipt.every((log) => ofBlock.some((other) => sameLog(log, other)));
}

function sameLog(one: Log, other: Log): boolean {
  return (
    one.logIndex === other.logIndex &&
    one.address === other.address &&
    one.blockHash === other.blockHash &&
    one.transactionHash === other.transactionHash &&
    one.data === other.data &&
    !one.removed &&
    !other.removed &&
    one.topics.length === other.topics.length &&
    one.topics.every((topic, index) => topic === other.topics[index])
  );
}

function decideFinalUse(use: Use, receipt: Receipt, sighting: Sighting, terms: AttemptTerms): Decision {
  if (decodeAuthorizationUsed(use.log) === null) return refused('canceled');
  const fitting = receipt.logs.find((log) => log.logIndex > use.log.logIndex && fits(log, terms));
  if (fitting === undefined) return refused('no_fitting_transfer');
  const transfer = { ...sighting, logIndex: fitting.logIndex, value: terms.valueUnits };
  // The money did go to the payee: a person says what for, and nobody is asked to pay meanwhile.
  if (sighting.blockNumber <= terms.openedBlock) return { outcome: 'review', reason: 'used_before_opening', transfer };
  if (terms.removedAt !== null && Number(sighting.blockTime) * 1000 >= terms.removedAt) {
    return { outcome: 'review', reason: 'listing_removed', transfer };
  }
  return { outcome: 'settled', transfer };
}

function fits(log: Log, terms: AttemptTerms): boolean {
  if (log.address !== terms.asset) return false;
  const transfer = decodeTransfer(log);
  return (
    transfer !== null &&
    transfer.from === terms.payer &&
    transfer.to === terms.payee &&
    transfer.value === terms.valueUnits
  );
}
