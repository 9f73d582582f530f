import { readBlock, readLogs, readReceipt } from '../../../../platform/chain/reads.ts';
import { type Rpc, RpcFailure } from '../../../../platform/chain/rpc.ts';
import { isStillFinal } from '../../../../platform/chain/sighting.ts';
import { addressTopic, decodeAuthorizationUsed, TRANSFER_TOPIC } from '../../../../platform/chain/usdc.ts';
import type { Hex } from '../../../../platform/hex.ts';
import type { Market } from '../../../context.ts';
import type { Corroboration } from '../../chain/corroborate.ts';
import type { ChainHead } from '../../chain/read-head.ts';
import type { DirectPayment } from '../../payment.ts';
import type { ClaimEvidence } from './decide-claim.ts';
import { hasAuthorization, listClaimHashes } from './store.ts';

export interface ClaimGathering {
  market: Pick<Market, 'database' | 'log'>;
  corroboration: Pick<Corroboration, 'onClaim'>;
  /** Whether a reading can show nothing new about a claim whose undecided transactions were seen in these blocks (null if in none). */
  isUnchanged(payment: DirectPayment, seenIn: readonly (bigint | null)[]): boolean;
}

/** Evidence on the undecided transactions of one claim, by hash. */
export type ClaimReading = Map<Hex, ClaimEvidence>;

/**
 * Reads the transactions that claims name, all from the head's provider. Checks any evidence that would decide a claim with the other
 * providers; unconfirmed evidence is returned without the finalized head, so it decides nothing. Throws RpcFailure if the finalized block
 * cannot be read again at the end. Leaves out claims about which nothing new can be shown, and transactions that cannot be read; the next
 * round reads these again.
 */
export async function gatherClaims(
  { market, corroboration, isUnchanged }: ClaimGathering,
  head: ChainHead,
  payments: readonly DirectPayment[],
): Promise<Map<bigint, ClaimReading>> {
  const readClaimOf = async (payment: DirectPayment): Promise<[bigint, ClaimReading][]> => {
    const named = (await listClaimHashes(market.database, payment.id)).filter(({ isUndecided }) => isUndecided);
    const seenIn = named.map(({ seenBlock }) => seenBlock);
    if (isUnchanged(payment, seenIn)) return [];
    const read = await Promise.all(
      named.map(async (one) => [one.txHash, await tryToRead(market, payment, one, head)] as const),
    );
    const reading: ClaimReading = new Map(
      read.flatMap(([hash, evidence]) => (evidence === null ? [] : [[hash, evidence]])),
    );
    return [[payment.id, await corroboration.onClaim(head, payment, reading)]];
  };
  const gathered = new Map((await Promise.all(payments.map(readClaimOf))).flat());
  return gathered.size === 0 || (await isStillFinal(head.rpc, head)) ? gathered : withoutFinalized(gathered);
}

interface NamedTransaction {
  txHash: Hex;
  seenBlock: bigint | null;
}

/**
 * Throws unless a reorganisation explains the missing receipt: a transaction that was seen in a block is gone only if another block
 * replaced that block. A provider that has no block there, or still the same one, has lost data, so its missing receipt says nothing.
 */
async function mustHaveLost(rpc: Rpc, txHash: Hex, seenBlock: bigint): Promise<void> {
  const block = await readBlock(rpc, seenBlock);
  if (block !== null && !block.transactions.includes(txHash)) return;
  throw new RpcFailure('malformed', `${rpc.endpoint} has forgotten a receipt or its block`);
}

async function tryToRead(
  market: ClaimGathering['market'],
  payment: DirectPayment,
  named: NamedTransaction,
  head: ChainHead,
): Promise<ClaimEvidence | null> {
  try {
    return await readClaim(market, payment, named, head);
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    market.log.warn('payment_unreadable', { payment_id: payment.id, error });
    return null;
  }
}

/** Reads one transaction that a claim names, from the head's provider. Throws RpcFailure. */
export async function readClaim(
  { database }: Pick<Market, 'database'>,
  payment: DirectPayment,
  { txHash, seenBlock }: NamedTransaction,
  { rpc, chainId, latest, finalized }: ChainHead,
): Promise<ClaimEvidence> {
  const receipt = await readReceipt(rpc, txHash);
  const baseEvidence = { chainId, finalized, receipt, block: null, transfersInBlock: [], isOfLedger: false };
  if (receipt === null) {
    if (seenBlock !== null && seenBlock <= latest.number) await mustHaveLost(rpc, txHash, seenBlock);
    return baseEvidence;
  }
  const { asset, payee } = payment;
  const [block, transfersInBlock] = await Promise.all([
    readBlock(rpc, receipt.blockNumber),
    readLogs(rpc, {
      address: asset,
      topics: [TRANSFER_TOPIC, null, addressTopic(payee)],
      blockHash: receipt.blockHash,
    }),
  ]);
  const used = receipt.logs.flatMap((log) => (log.address === asset ? (decodeAuthorizationUsed(log) ?? []) : []));
  const isOfLedger = await hasAuthorization(database, payment, used);
  return { ...baseEvidence, block, transfersInBlock, isOfLedger };
}

function withoutFinalized(gathered: Map<bigint, ClaimReading>): Map<bigint, ClaimReading> {
  const withoutHead = (reading: ClaimReading): ClaimReading =>
    new Map([...reading].map(([hash, evidence]) => [hash, { ...evidence, finalized: null }]));
  return new Map([...gathered].map(([id, reading]) => [id, withoutHead(reading)]));
}
