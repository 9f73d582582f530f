import sql, { type Sql } from 'sql-template-tag';
import type { PaymentPurpose } from '../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../platform/hex.ts';
import type { AttemptTerms, Sighting } from './decide.ts';

export type PaymentStatus = 'verifying' | 'settling' | 'completed' | 'unpaid' | 'needs_review' | 'rejected';

/** One row of the ledger: an authorization and the request that it belongs to for ever. */
export interface Payment {
  id: bigint;
  purpose: PaymentPurpose;
  status: PaymentStatus;
  listingId: bigint | null;
  merchantId: bigint | null;
  bodyHash: Buffer | null;
  chainId: bigint;
  asset: Hex;
  payee: Hex;
  payer: Hex;
  valueUnits: bigint;
  nonce: Hex;
  validAfter: bigint;
  validBefore: bigint;
  openedBlock: bigint;
  deliveryTokenHash: Buffer | null;
  /** When the facilitator had last said who its signers are; null: never. */
  signersReadAt: Date | null;
  payerCollectsOnly: boolean;
  txHash: Hex | null;
  blockNumber: bigint | null;
  blockTime: Date | null;
  endReason: string | null;
  /** When the proof may first have been handed over for settlement. */
  settlingAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

interface Row {
  id: bigint;
  purpose: PaymentPurpose;
  status: PaymentStatus;
  listing_id: bigint | null;
  merchant_id: bigint | null;
  body_hash: Buffer | null;
  chain_id: bigint;
  asset: Buffer;
  payee: Buffer;
  payer: Buffer;
  value_units: bigint;
  nonce: Buffer;
  valid_after: bigint;
  valid_before: bigint;
  opened_block: bigint;
  delivery_token_hash: Buffer | null;
  signers_read_at: Date | null;
  payer_collects_only: boolean;
  tx_hash: Buffer | null;
  block_number: bigint | null;
  block_time: Date | null;
  end_reason: string | null;
  settling_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

const columns = sql`id, purpose, status, listing_id, merchant_id, body_hash, chain_id, asset, payee, payer, value_units, nonce,
  valid_after, valid_before, opened_block, delivery_token_hash, signers_read_at, payer_collects_only, tx_hash, block_number, block_time,
  end_reason, settling_at, created_at, updated_at`;

function paymentOf(row: Row): Payment {
  return {
    id: row.id,
    purpose: row.purpose,
    status: row.status,
    listingId: row.listing_id,
    merchantId: row.merchant_id,
    bodyHash: row.body_hash,
    chainId: row.chain_id,
    asset: toHex(row.asset),
    payee: toHex(row.payee),
    payer: toHex(row.payer),
    valueUnits: row.value_units,
    nonce: toHex(row.nonce),
    validAfter: row.valid_after,
    validBefore: row.valid_before,
    openedBlock: row.opened_block,
    deliveryTokenHash: row.delivery_token_hash,
    signersReadAt: row.signers_read_at,
    payerCollectsOnly: row.payer_collects_only,
    txHash: row.tx_hash && toHex(row.tx_hash),
    blockNumber: row.block_number,
    blockTime: row.block_time,
    endReason: row.end_reason,
    settlingAt: row.settling_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

async function maybePayment(queryable: Queryable, query: Sql): Promise<Payment | null> {
  const row = await queryable.maybe<Row>(query);
  return row && paymentOf(row);
}

export function isOpen(payment: Payment): boolean {
  return payment.status === 'verifying' || payment.status === 'settling';
}

export function findPayment(queryable: Queryable, id: bigint): Promise<Payment | null> {
  return maybePayment(queryable, sql`select ${columns} from payments where id = ${id}`);
}

/** Waits for whoever is changing the row. */
export function lockPayment(tx: Tx, id: bigint): Promise<Payment | null> {
  return maybePayment(tx, sql`select ${columns} from payments where id = ${id} for update`);
}

export function findByAuthorization(
  queryable: Queryable,
  key: { chainId: bigint; asset: Hex; payer: Hex; nonce: Hex },
): Promise<Payment | null> {
  return maybePayment(
    queryable,
    sql`select ${columns} from payments where chain_id = ${key.chainId} and asset = ${toBytes(key.asset)}
      and payer = ${toBytes(key.payer)} and nonce = ${toBytes(key.nonce)}`,
  );
}

export function findByToken(queryable: Queryable, tokenHash: Buffer): Promise<Payment | null> {
  return maybePayment(queryable, sql`select ${columns} from payments where delivery_token_hash = ${tokenHash}`);
}

/** The payment of this listing that has not ended unpaid, whoever it is found by: merchant first. */
export function findHolding(
  queryable: Queryable,
  listingId: bigint,
  holder: { merchantId: bigint } | { payer: Hex },
): Promise<Payment | null> {
  const who = 'merchantId' in holder ? sql`merchant_id = ${holder.merchantId}` : sql`payer = ${toBytes(holder.payer)}`;
  return maybePayment(
    queryable,
    sql`select ${columns} from payments where purpose = 'purchase' and listing_id = ${listingId} and ${who}
      and status not in ('unpaid', 'rejected')`,
  );
}

export function findOpenFee(queryable: Queryable, merchantId: bigint, bodyHash: Buffer): Promise<Payment | null> {
  return maybePayment(
    queryable,
    sql`select ${columns} from payments where purpose = 'listing_fee' and merchant_id = ${merchantId}
      and body_hash = ${bodyHash} and status in ('verifying', 'settling', 'needs_review')`,
  );
}

export async function countOpenFees(queryable: Queryable, merchantId: bigint): Promise<number> {
  const row = await queryable.one<{ open: bigint }>(
    sql`select count(*) as open from payments where purpose = 'listing_fee' and merchant_id = ${merchantId}
      and status in ('verifying', 'settling')`,
  );
  return Number(row.open);
}

export type NewPayment = Omit<
  Payment,
  | 'id'
  | 'status'
  | 'signersReadAt'
  | 'payerCollectsOnly'
  | 'txHash'
  | 'blockNumber'
  | 'blockTime'
  | 'endReason'
  | 'settlingAt'
  | 'createdAt'
  | 'updatedAt'
> & {
  /** Where its proof will go. */
  facilitatorUrl: string;
  now: Date;
};

/** Null when one of the unique rules already gives the authorization, the payer, the merchant or the body to another row. */
export function insertPayment(tx: Tx, given: NewPayment): Promise<Payment | null> {
  return maybePayment(
    tx,
    sql`insert into payments (purpose, path, status, listing_id, merchant_id, body_hash, chain_id, asset, payee, payer,
        value_units, nonce, valid_after, valid_before, opened_block, delivery_token_hash, signers_read_at, created_at, updated_at)
      values (${given.purpose}, 'x402', 'verifying', ${given.listingId}, ${given.merchantId}, ${given.bodyHash},
        ${given.chainId}, ${toBytes(given.asset)}, ${toBytes(given.payee)}, ${toBytes(given.payer)}, ${given.valueUnits},
        ${toBytes(given.nonce)}, ${given.validAfter}, ${given.validBefore}, ${given.openedBlock},
        ${given.deliveryTokenHash}, (select read_at from facilitator_readings where chain_id = ${given.chainId}
        and url = ${given.facilitatorUrl}), ${given.now}, ${given.now})
      on conflict do nothing
      returning ${columns}`,
  );
}

/** False when the row is no longer `verifying`. */
export async function markSettling(tx: Tx, id: bigint, now: Date): Promise<boolean> {
  const touched = await tx.run(
    sql`update payments set status = 'settling', settling_at = ${now}, updated_at = ${now}
      where id = ${id} and status = 'verifying'`,
  );
  return touched === 1;
}

/** What the chain shows now; null clears a sighting that a reorganisation took back. Only while the payment is open. */
export async function noteSighting(
  queryable: Queryable,
  id: bigint,
  sighting: Sighting | null,
  now: Date,
): Promise<void> {
  const hash = sighting && toBytes(sighting.txHash);
  const number = sighting?.blockNumber ?? null;
  const time = sighting && new Date(Number(sighting.blockTime) * 1000);
  await queryable.run(
    sql`update payments set tx_hash = ${hash}, block_number = ${number}, block_time = ${time}, updated_at = ${now}
      where id = ${id} and status in ('verifying', 'settling')
      and (tx_hash is distinct from ${hash} or block_number is distinct from ${number})`,
  );
}

export interface PaymentEnd {
  status: 'completed' | 'unpaid' | 'needs_review';
  reason: string | null;
  transfer: Sighting | null;
  payerCollectsOnly: boolean;
}

export async function endPayment(tx: Tx, id: bigint, end: PaymentEnd, now: Date): Promise<void> {
  const { transfer } = end;
  await tx.run(
    sql`update payments set status = ${end.status}, end_reason = ${end.reason},
        payer_collects_only = ${end.payerCollectsOnly},
        tx_hash = ${transfer && toBytes(transfer.txHash)}, block_number = ${transfer?.blockNumber ?? null},
        block_time = ${transfer && new Date(Number(transfer.blockTime) * 1000)},
        ended_at = ${now}, updated_at = ${now}
      where id = ${id}`,
  );
}

/** False when the transaction already proves something else. */
export async function insertProof(
  tx: Tx,
  payment: Payment,
  transfer: Sighting & { logIndex: number },
  now: Date,
): Promise<boolean> {
  const touched = await tx.run(
    sql`insert into payment_proofs (tx_hash, purpose, payment_id, block_number, block_hash, block_time, log_index, written_at)
      values (${toBytes(transfer.txHash)}, ${payment.purpose}, ${payment.id}, ${transfer.blockNumber},
        ${toBytes(transfer.blockHash)}, ${new Date(Number(transfer.blockTime) * 1000)}, ${transfer.logIndex}, ${now})
      on conflict (tx_hash) do nothing`,
  );
  return touched === 1;
}

export interface ProofRow {
  txHash: Hex;
  paymentId: bigint;
  blockNumber: bigint;
  blockHash: Hex;
  blockTime: Date;
}

export async function findProof(
  queryable: Queryable,
  by: { txHash: Hex } | { paymentId: bigint },
): Promise<ProofRow | null> {
  const which = 'txHash' in by ? sql`tx_hash = ${toBytes(by.txHash)}` : sql`payment_id = ${by.paymentId}`;
  const row = await queryable.maybe<{
    tx_hash: Buffer;
    payment_id: bigint;
    block_number: bigint;
    block_hash: Buffer;
    block_time: Date;
  }>(sql`select tx_hash, payment_id, block_number, block_hash, block_time from payment_proofs where ${which}`);
  return (
    row && {
      txHash: toHex(row.tx_hash),
      paymentId: row.payment_id,
      blockNumber: row.block_number,
      blockHash: toHex(row.block_hash),
      blockTime: row.block_time,
    }
  );
}

/** Open payments in the order of their age, from the one after `afterId`. */
export async function listOpenPayments(queryable: Queryable, afterId: bigint, limit: number): Promise<Payment[]> {
  const rows = await queryable.rows<Row>(
    sql`select ${columns} from payments where status in ('verifying', 'settling') and id > ${afterId}
      order by id limit ${limit}`,
  );
  return rows.map(paymentOf);
}

export function attemptTermsOf(payment: Payment, removedAt: Date | null): AttemptTerms {
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
  };
}
