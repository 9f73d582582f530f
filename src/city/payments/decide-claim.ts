import type { Block, Log, Receipt } from '../../platform/chain/reads.ts';
import {
  type FoundTransfer,
  isInBlock,
  type Sighting,
  sameLogs,
  type TransferEvidence,
} from '../../platform/chain/sighting.ts';
import { decodeTransfer, type Transfer } from '../../platform/chain/usdc.ts';
import type { Hex } from '../../platform/hex.ts';

/** Terms that a claimed transfer must meet. They come from offer and reservation, never from the current configuration. */
export interface ClaimTerms {
  chainId: bigint;
  asset: Hex;
  payer: Hex;
  payee: Hex;
  minimumUnits: bigint;
  /** Seconds since 1970. The block's time must be at or after `windowFrom` and before `windowTo`. */
  windowFrom: bigint;
  windowTo: bigint;
}

const INVALID_REASONS = ['amount_too_little', 'wrong_payer', 'wrong_payee', 'outside_window'] as const;
export type InvalidReason = (typeof INVALID_REASONS)[number];

export type UnknownWhy =
  | 'wrong_chain'
  | 'not_mined'
  | 'not_canonical'
  | 'contradiction'
  | 'no_finalized_head'
  | 'not_final';

type FinalDecision =
  | { outcome: 'paid'; transfer: FoundTransfer }
  /** Money moved, but not as reserved, so there is no sale. */
  | { outcome: 'invalid'; reason: InvalidReason; transfer: FoundTransfer }
  /** The transaction contains no transfer by the payer or to the payee. The hash is refused, and the offer stays open. */
  | { outcome: 'refused'; reason: 'transfer_not_found' };

export type ClaimDecision =
  | FinalDecision
  | {
      outcome: 'unknown';
      why: UnknownWhy;
      /**
       * Block in which the transaction would decide once final. Null if it was not seen or has no transfer by the payer or to the payee.
       */
      sighting: Sighting | null;
      /** True if the transaction would pay once final. */
      fits: boolean;
    };

/**
 * Decides on one claimed transaction; no other code does. Pure. Evidence that is missing, not final or contradictory gives
 * `unknown` and is read again; the result still says what it would become.
 */
export function decideClaim(evidence: TransferEvidence, terms: ClaimTerms): ClaimDecision {
  const { finalized, receipt, block } = evidence;
  if (evidence.chainId !== terms.chainId) return unknown('wrong_chain');
  if (receipt === null) return unknown('not_mined');
  if (!isInBlock(receipt, block)) return unknown('not_canonical');
  if (!sameLogs(receipt, evidence.transfersInBlock, (log) => relatedTransfer(log, terms) !== null)) {
    return unknown('contradiction');
  }
  // A failed transaction has no logs.
  if (receipt.status !== 'success' && receipt.logs.length > 0) return unknown('contradiction');
  const verdict = decideMined(receipt, block, terms);
  if (finalized === null) return unknown('no_finalized_head', verdict);
  if (receipt.blockNumber > finalized.number) return unknown('not_final', verdict);
  if (receipt.blockNumber === finalized.number && receipt.blockHash !== finalized.hash) return unknown('contradiction');
  return verdict;
}

function unknown(why: UnknownWhy, foreseen: FinalDecision | null = null): ClaimDecision {
  if (foreseen === null || foreseen.outcome === 'refused')
    return { outcome: 'unknown', why, sighting: null, fits: false };
  const { logIndex: _, value: __, ...sighting } = foreseen.transfer;
  return { outcome: 'unknown', why, sighting, fits: foreseen.outcome === 'paid' };
}

/** Returns a transfer of the token from the payer or to the payee. Ignores a transfer of 0, which anybody can send in another's name. */
function relatedTransfer(log: Log, { asset, payer, payee }: ClaimTerms): Transfer | null {
  if (log.address !== asset) return null;
  const transfer = decodeTransfer(log);
  if (transfer === null || transfer.value === 0n) return null;
  return transfer.from === payer || transfer.to === payee ? transfer : null;
}

interface Candidate extends Transfer {
  logIndex: number;
}

/** Returns the decision that applies once the block is final. */
function decideMined(receipt: Receipt, block: Block, terms: ClaimTerms): FinalDecision {
  const candidates = receipt.logs.flatMap((log): Candidate[] => {
    const transfer = relatedTransfer(log, terms);
    return transfer === null ? [] : [{ ...transfer, logIndex: log.logIndex }];
  });
  const [first] = candidates;
  if (first === undefined) return { outcome: 'refused', reason: 'transfer_not_found' };
  const at = ({ logIndex, value }: Candidate): FoundTransfer => ({
    txHash: receipt.transactionHash,
    blockNumber: receipt.blockNumber,
    blockHash: receipt.blockHash,
    blockTime: block.timestamp,
    sender: receipt.from,
    logIndex,
    value,
  });
  const invalid = (reason: InvalidReason, of: Candidate): FinalDecision => ({
    outcome: 'invalid',
    reason,
    transfer: at(of),
  });
  const own = candidates.filter(({ from, to }) => from === terms.payer && to === terms.payee);
  // A single log must reach the price. Several are not added up, and a higher amount is fine.
  const enough = own.find(({ value }) => value >= terms.minimumUnits);
  if (enough !== undefined) {
    const isInWindow = block.timestamp >= terms.windowFrom && block.timestamp < terms.windowTo;
    return isInWindow ? { outcome: 'paid', transfer: at(enough) } : invalid('outside_window', enough);
  }
  const [little] = own.toSorted((a, b) => (a.value < b.value ? 1 : -1));
  if (little !== undefined) return invalid('amount_too_little', little);
  const byOther = candidates.find(({ to }) => to === terms.payee);
  return byOther === undefined ? invalid('wrong_payee', first) : invalid('wrong_payer', byOther);
}
