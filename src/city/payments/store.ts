import sql from 'sql-template-tag';
import type { Watermark } from '../../platform/chain/accept-head.ts';
import type { FinalizedHead, FoundTransfer } from '../../platform/chain/sighting.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../platform/hex.ts';
import type { Reservation } from '../offers/offer.ts';

export async function findWatermark(queryable: Queryable, chainId: bigint): Promise<Watermark | null> {
  const row = await queryable.maybe<{ block_number: bigint; block_hash: Buffer; block_time: Date; accepted_at: Date }>(
    sql`select block_number, block_hash, block_time, accepted_at from chain_watermarks where chain_id = ${chainId}`,
  );
  if (row === null) return null;
  return {
    number: row.block_number,
    hash: toHex(row.block_hash),
    timestamp: BigInt(row.block_time.getTime() / 1_000),
    acceptedAt: row.accepted_at.getTime(),
  };
}

/** Raises the watermark, but keeps a higher one that another process wrote meanwhile. */
export async function raiseWatermark(
  queryable: Queryable,
  chainId: bigint,
  head: FinalizedHead,
  now: Date,
): Promise<void> {
  await queryable.run(
    sql`insert into chain_watermarks as mark (chain_id, block_number, block_hash, block_time, accepted_at)
      values (${chainId}, ${head.number}, ${toBytes(head.hash)}, ${new Date(Number(head.timestamp) * 1_000)}, ${now})
      on conflict (chain_id) do update set block_number = excluded.block_number, block_hash = excluded.block_hash,
        block_time = excluded.block_time, accepted_at = excluded.accepted_at
      where excluded.block_number > mark.block_number`,
  );
}

/** Cap on undecided transactions per reservation. */
export const MAX_CLAIMS = 5;

export interface Claim {
  txHash: Hex;
  /** Null while undecided. */
  refused: string | null;
}

/** Lists claims in the order in which they were made. */
export async function listClaims(queryable: Queryable, reservationId: bigint): Promise<Claim[]> {
  const rows = await queryable.rows<{ tx_hash: Buffer; refused: string | null }>(
    sql`select tx_hash, refused from claims where reservation_id = ${reservationId} order by named_at, tx_hash`,
  );
  return rows.map(({ tx_hash, refused }) => ({ txHash: toHex(tx_hash), refused }));
}

export async function insertClaim(tx: Tx, reservationId: bigint, txHash: Hex, now: Date): Promise<void> {
  await tx.run(
    sql`insert into claims (reservation_id, tx_hash, named_at) values (${reservationId}, ${toBytes(txHash)}, ${now})`,
  );
}

export async function dropClaim(tx: Tx, reservationId: bigint, txHash: Hex): Promise<void> {
  await tx.run(sql`delete from claims where reservation_id = ${reservationId} and tx_hash = ${toBytes(txHash)}`);
}

export async function refuseClaim(tx: Tx, reservationId: bigint, txHash: Hex, why: string): Promise<void> {
  await tx.run(
    sql`update claims set refused = ${why} where reservation_id = ${reservationId} and tx_hash = ${toBytes(txHash)}`,
  );
}

/** Returns the offer that a transaction bought, or null if it is unused. */
export async function findProvenOffer(queryable: Queryable, txHash: Hex): Promise<bigint | null> {
  const row = await queryable.maybe<{ offer_id: bigint }>(
    sql`select offer_id from sale_proofs where tx_hash = ${toBytes(txHash)}`,
  );
  return row?.offer_id ?? null;
}

/** Returns false if the transaction has already bought something else. */
export async function insertProof(
  tx: Tx,
  { id, offerId }: Pick<Reservation, 'id' | 'offerId'>,
  transfer: FoundTransfer,
  now: Date,
): Promise<boolean> {
  const touched = await tx.run(sql`
    insert into sale_proofs (tx_hash, offer_id, reservation_id, block_number, block_hash, block_time, log_index, value_units, written_at)
    values (${toBytes(transfer.txHash)}, ${offerId}, ${id}, ${transfer.blockNumber}, ${toBytes(transfer.blockHash)},
      ${new Date(Number(transfer.blockTime) * 1_000)}, ${transfer.logIndex}, ${transfer.value}, ${now})
    on conflict (tx_hash) do nothing`);
  return touched === 1;
}
