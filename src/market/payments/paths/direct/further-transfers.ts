import type { Log } from '../../../../platform/chain/reads.ts';
import { RpcFailure } from '../../../../platform/chain/rpc.ts';
import { blocksBetween, searchLogs } from '../../../../platform/chain/search-logs.ts';
import { isInBlock, isStillFinal, sameLogs } from '../../../../platform/chain/sighting.ts';
import { addressTopic, decodeTransfer, TRANSFER_TOPIC } from '../../../../platform/chain/usdc.ts';
import type { Market } from '../../../context.ts';
import type { ChainHead } from '../../chain/read-head.ts';
import type { DirectPayment } from '../../payment.ts';
import { type ClaimEvidence, claimTermsOf } from './decide-claim.ts';
import {
  deleteWaitingHash,
  type FurtherTransfer,
  insertFurtherTransfers,
  listClaimsInReview,
  listWaitingHashes,
} from './further-store.ts';
import { readClaim } from './gather-claims.ts';
import { noteSeenBlock } from './store.ts';

/**
 * Finds further transfers from the payer of a claim in review to its payee, for the payee to see. Decides nothing and asks no other
 * provider. A transfer that should count must be claimed and is judged like any other.
 */
export interface FurtherTransfers {
  /** Reads the transactions that the payer named while the payee decides. Changes nothing if the chain cannot be read. */
  readNamed(review: DirectPayment): Promise<void>;
  /** Does the same for all claims in review, and searches each claim's window until the whole window is final. */
  readAll(): Promise<void>;
}

type FurtherMarket = Pick<Market, 'database' | 'log'>;

const AT_ONCE = 50;
/** Maximum number of transfers stored for one payer and window. More transfers than this are not meant as top-ups. */
const MAX_OF_WINDOW = 100;

export function createFurtherTransfers(market: FurtherMarket, readHead: () => Promise<ChainHead>): FurtherTransfers {
  /** Reviews whose whole window this process has read. After a restart, each window is read once more. */
  const fullyRead = new Set<bigint>();

  /** `about` names the review in the log. It is empty while the heads are read. */
  async function readOrNull<T>(read: () => Promise<T>, about: { payment_id?: bigint } = {}): Promise<T | null> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      market.log.warn('further_transfers_unreadable', { ...about, error });
      return null;
    }
  }

  async function readOne(review: DirectPayment, head: ChainHead): Promise<void> {
    await readWaiting(market, head, review);
    if (!fullyRead.has(review.id) && (await readWindow(market, head, review))) fullyRead.add(review.id);
  }

  return {
    readNamed: async (review) => {
      await readOrNull(async () => await readWaiting(market, await readHead(), review), { payment_id: review.id });
    },
    readAll: async () => {
      const inReview = new Set<bigint>();
      let head: ChainHead | null = null;
      for (let afterId = 0n; ; ) {
        const reviews = await listClaimsInReview(market.database, afterId, AT_ONCE);
        const last = reviews.at(-1);
        if (last === undefined) break;
        // Read the head once for all reviews, and only if there are any.
        head ??= await readOrNull(readHead);
        if (head === null) return;
        const currentHead = head;
        for (const review of reviews) {
          inReview.add(review.id);
          await readOrNull(() => readOne(review, currentHead), { payment_id: review.id });
        }
        afterId = last.id;
      }
      for (const id of fullyRead) if (!inReview.has(id)) fullyRead.delete(id);
    },
  };
}

/** Picks the transfers from the payer to the payee, without the one in review. */
function transfersIn(logs: readonly Log[], review: DirectPayment): FurtherTransfer[] {
  return logs.flatMap((log) => {
    const transfer = log.address === review.asset ? decodeTransfer(log) : null;
    if (transfer?.from !== review.payer || transfer.to !== review.payee || transfer.value === 0n) return [];
    const { transactionHash: txHash, logIndex, blockNumber } = log;
    if (txHash === review.txHash && logIndex === review.logIndex) return [];
    return [{ txHash, logIndex, valueUnits: transfer.value, blockNumber }];
  });
}

async function readWaiting({ database }: FurtherMarket, head: ChainHead, review: DirectPayment): Promise<void> {
  if (head.chainId !== review.chainId || head.finalized === null) return;
  for (const waiting of await listWaitingHashes(database, review.id)) {
    if (waiting.isRead && waiting.seenBlock !== null) continue;
    const seen = judgeFurther(await readClaim({ database }, review, waiting, head), review);
    if (seen === 'nothing') {
      if (await isStillFinal(head.rpc, head)) await deleteWaitingHash(database, review.id, waiting.txHash);
      continue;
    }
    await noteSeenBlock(database, review.id, waiting.txHash, seen?.blockNumber ?? null);
    if (seen?.isFinal && (await isStillFinal(head.rpc, head)))
      await insertFurtherTransfers(database, review.id, seen.transfers);
  }
}

interface Seen {
  blockNumber: bigint;
  isFinal: boolean;
  transfers: FurtherTransfer[];
}

/**
 * Returns `nothing` if the transaction is final and moved nothing from the payer to the payee. Returns null if it is in no canonical block,
 * the evidence contradicts itself, or it moved nothing and is not final yet.
 */
function judgeFurther(
  { finalized, receipt, block, ...evidence }: ClaimEvidence,
  review: DirectPayment,
): Seen | 'nothing' | null {
  if (finalized === null || receipt === null || !isInBlock(receipt, block)) return null;
  const isToPayee = (log: Log): boolean => log.address === review.asset && decodeTransfer(log)?.to === review.payee;
  if (!sameLogs(receipt, evidence.transfersInBlock, isToPayee)) return null;
  const { blockNumber, blockHash } = receipt;
  const isFinal = blockNumber < finalized.number || (blockNumber === finalized.number && blockHash === finalized.hash);
  // A transfer that used the authorization of a payment in the ledger belongs to that payment.
  const transfers = evidence.isOfLedger ? [] : transfersIn(receipt.logs, review);
  if (transfers.length > 0) return { blockNumber, isFinal, transfers };
  return isFinal ? 'nothing' : null;
}

/** Searches the final part of the window. Returns true once the whole window is final. */
async function readWindow({ database }: FurtherMarket, head: ChainHead, review: DirectPayment): Promise<boolean> {
  const { rpc, finalized } = head;
  if (head.chainId !== review.chainId || finalized === null) return false;
  const { asset, payer, payee, windowFrom, windowTo } = claimTermsOf(review, null);
  const finalRange = { fromBlock: 0n, toBlock: finalized.number };
  const blocks = await blocksBetween(rpc, finalRange, { from: windowFrom, before: windowTo });
  const topics = [TRANSFER_TOPIC, addressTopic(payer), addressTopic(payee)];
  const logs = await searchLogs(rpc, { address: asset, topics, ...blocks });
  if (!(await isStillFinal(rpc, head))) return false;
  await insertFurtherTransfers(database, review.id, transfersIn(logs, review).slice(0, MAX_OF_WINDOW));
  return finalized.timestamp >= windowTo;
}
