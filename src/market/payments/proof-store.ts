import sql from 'sql-template-tag';
import type { FoundTransfer } from '../../platform/chain/sighting.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../platform/hex.ts';
import type { Payment } from './payment.ts';

/** Purpose of the transaction: a kind of payment, or `refund`. */
type LedgerPurpose = Payment['purpose'] | 'refund';
/** `city` is the sale of a thing, for which the ledger has no payment. */
export type ProofPurpose = LedgerPurpose | 'city';

/** Returns false if the transaction already proves something. */
export async function insertProof(
  tx: Tx,
  payment: Pick<Payment, 'id'>,
  { purpose, transfer, now }: { purpose: LedgerPurpose; transfer: FoundTransfer; now: Date },
): Promise<boolean> {
  return await insertRow(tx, { purpose, paymentId: payment.id, worldListingId: null }, transfer, now);
}

/** Writes the proof for the sale of a thing. Returns false if the transaction already proves something. */
export async function insertCityProof(
  tx: Tx,
  worldListingId: bigint,
  transfer: FoundTransfer,
  now: Date,
): Promise<boolean> {
  return await insertRow(tx, { purpose: 'city', paymentId: null, worldListingId }, transfer, now);
}

async function insertRow(
  tx: Tx,
  proves: { purpose: ProofPurpose; paymentId: bigint | null; worldListingId: bigint | null },
  transfer: FoundTransfer,
  now: Date,
): Promise<boolean> {
  const rowCount = await tx.run(
    sql`insert into payment_proofs (tx_hash, purpose, payment_id, world_listing_id, block_number, block_hash, block_time, log_index,
        value_units, written_at)
      values (${toBytes(transfer.txHash)}, ${proves.purpose}, ${proves.paymentId}, ${proves.worldListingId},
        ${transfer.blockNumber}, ${toBytes(transfer.blockHash)}, ${new Date(Number(transfer.blockTime) * 1000)},
        ${transfer.logIndex}, ${transfer.value}, ${now})
      on conflict (tx_hash) do nothing`,
  );
  return rowCount === 1;
}

/** Whether this exact transfer already paid for another payment or a thing. */
export async function isTransferTaken(
  queryable: Queryable,
  { txHash, logIndex }: Pick<FoundTransfer, 'txHash' | 'logIndex'>,
): Promise<boolean> {
  const hash = toBytes(txHash);
  const { taken } = await queryable.one<{ taken: boolean }>(
    sql`select exists (select from payment_proofs where tx_hash = ${hash} and log_index = ${logIndex})
      or exists (select from payments where tx_hash = ${hash} and log_index = ${logIndex}) as taken`,
  );
  return taken;
}

export interface ProofRow {
  txHash: Hex;
  purpose: ProofPurpose;
  /** Null for the sale of a thing. */
  paymentId: bigint | null;
  /** The sold thing. Null for everything else. */
  worldListingId: bigint | null;
  blockNumber: bigint;
  blockHash: Hex;
  blockTime: Date;
  logIndex: number;
  valueUnits: bigint;
  writtenAt: Date;
}

/** Finds what a transaction proves or, given a payment, the transfer that paid it, which is never its refund. */
export async function findProof(
  queryable: Queryable,
  by: { txHash: Hex } | { paymentId: bigint },
): Promise<ProofRow | null> {
  const condition =
    'txHash' in by ? sql`tx_hash = ${toBytes(by.txHash)}` : sql`payment_id = ${by.paymentId} and purpose <> 'refund'`;
  const row = await queryable.maybe<{
    tx_hash: Buffer;
    purpose: ProofPurpose;
    payment_id: bigint | null;
    world_listing_id: bigint | null;
    block_number: bigint;
    block_hash: Buffer;
    block_time: Date;
    log_index: number;
    value_units: bigint;
    written_at: Date;
  }>(
    sql`select tx_hash, purpose, payment_id, world_listing_id, block_number, block_hash, block_time, log_index, value_units,
        written_at
      from payment_proofs where ${condition}`,
  );
  return (
    row && {
      txHash: toHex(row.tx_hash),
      purpose: row.purpose,
      paymentId: row.payment_id,
      worldListingId: row.world_listing_id,
      blockNumber: row.block_number,
      blockHash: toHex(row.block_hash),
      blockTime: row.block_time,
      logIndex: row.log_index,
      valueUnits: row.value_units,
      writtenAt: row.written_at,
    }
  );
}

/** For this long after a recovery, the chain is searched for a lost payment before a buyer pays, unless the request waives it. */
export const RECENT_RECOVERY_MS = 30 * 86_400_000;

/** A range of blocks whose transfers the lost records may have contained. */
export interface LostWindow {
  fromBlock: bigint;
  toBlock: bigint;
}

/** Returns the windows of recoveries since that time, newest first. */
export async function listLostWindows(queryable: Queryable, chainId: bigint, since: Date): Promise<LostWindow[]> {
  return await queryable.rows<LostWindow>(sql`
    select from_block as "fromBlock", to_block as "toBlock" from recoveries
    where chain_id = ${chainId} and at > ${since} order by id desc`);
}

/** Returns the transactions that no payment names and that prove nothing, in the given order. */
export async function keepUnrecorded(queryable: Queryable, hashes: readonly Hex[]): Promise<Hex[]> {
  const rows = await queryable.rows<{ hash: Buffer }>(sql`
    select hash from unnest(${hashes.map(toBytes)}::bytea[]) with ordinality as found (hash, nth)
    where not exists (select from payment_proofs where tx_hash = hash)
      and not exists (select from payments where tx_hash = hash)
    order by nth`);
  return rows.map(({ hash }) => toHex(hash));
}
