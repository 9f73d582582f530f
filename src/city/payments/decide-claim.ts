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

/** What a claimed transfer has to be. Comes from offer and reservation, never from today's configuration. */
export interface ClaimTerms {
  chainId: bigint;
  asset: Hex;
  payer: Hex;
  payee: Hex;
  minimumUnits: bigint;
  /** Seconds: the block's time must be at or after `windowFrom` and before `windowTo`. */
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
  | { outcome: 'settled'; transfer: FoundTransfer }
  /** Money moved, and not as it was reserved: no sale. */
  | { outcome: 'invalid'; reason: InvalidReason; transfer: FoundTransfer }
  /** Nothing of payer or payee is in it: the hash is refused, and the offer goes on. */
  | { outcome: 'refused'; reason: 'transfer_not_found' };

export type ClaimDecision =
  | FinalDecision
  | {
      outcome: 'unknown';
      why: UnknownWhy;
      /** Where it stands, if it would decide something once it is final; null where it is not seen, or holds nothing of theirs. */
      sighting: Sighting | null;
      /** It would be settled. */
      fits: boolean;
    };

/**
 * The verdict on one claimed transaction: pure, and the only place that gives one. Whatever is silent, not final or contradictory is
 * unknown, and is looked at again; it says all the same what it would be.
 */
export function decideClaim(evidence: TransferEvidence, terms: ClaimTerms): ClaimDecision {
  const { finalized, receipt, block } = evidence;
  if (evidence.chainId !== terms.chainId) return unknown('wrong_chain');
  if (receipt === null) return unknown('not_mined');
  if (!isInBlock(receipt, block)) return unknown('not_canonical');
  if (!sameLogs(receipt, evidence.transfersInBlock, (log) => concerning(log, terms) !== null)) {
    return unknown('contradiction');
  }
  // What failed leaves no logs.
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
  return { outcome: 'unknown', why, sighting, fits: foreseen.outcome === 'settled' };
}

/** A transfer of the token from the payer or to the payee. Anybody can send nothing in another's name: a transfer of 0 is none. */
function concerning(log: Log, { asset, payer, payee }: ClaimTerms): Transfer | null {
  if (log.address !== asset) return null;
  const transfer = decodeTransfer(log);
  if (transfer === null || transfer.value === 0n) return null;
  return transfer.from === payer || transfer.to === payee ? transfer : null;
}

interface Candidate extends Transfer {
  logIndex: number;
}

/** What it is once it is final. */
function decideMined(receipt: Receipt, block: Block, terms: ClaimTerms): FinalDecision {
  const found = receipt.logs.flatMap((log): Candidate[] => {
    const transfer = concerning(log, terms);
    return transfer === null ? [] : [{ ...transfer, logIndex: log.logIndex }];
  });
  const [first] = found;
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
  const own = found.filter(({ from, to }) => from === terms.payer && to === terms.payee);
  // One log has to be enough; parts are not added up, and a tip is fine.
  const enough = own.find(({ value }) => value >= terms.minimumUnits);
  if (enough !== undefined) {
    const isInWindow = block.timestamp >= terms.windowFrom && block.timestamp < terms.windowTo;
    return isInWindow ? { outcome: 'settled', transfer: at(enough) } : invalid('outside_window', enough);
  }
  const [little] = own.toSorted((a, b) => (a.value < b.value ? 1 : -1));
  if (little !== undefined) return invalid('amount_too_little', little);
  const byOther = found.find(({ to }) => to === terms.payee);
  return byOther === undefined ? invalid('wrong_payee', first) : invalid('wrong_payer', byOther);
}
