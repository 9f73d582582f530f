import sql from 'sql-template-tag';
import type { Queryable, Tx } from '../../../../platform/database/database.ts';
import { type Hex, toBytes } from '../../../../platform/hex.ts';
import type { DirectPayment, Payment } from '../../payment.ts';
import { readPayments } from '../../store.ts';

function onlyDirect(payment: Payment | undefined): DirectPayment | null {
  return payment?.path === 'direct' ? payment : null;
}

/** What a transaction pays beside a claim of that intent; null where it is none, or not yet. */
export async function findBeside(queryable: Queryable, intentId: string, txHash: Hex): Promise<DirectPayment | null> {
  const [found] = await readPayments(
    queryable,
    (columns) => sql`select ${columns} from payments where intent_id = ${Buffer.from(intentId, 'hex')}
      and beside is not null and tx_hash = ${toBytes(txHash)}`,
  );
  return onlyDirect(found);
}

/** On the terms of the claim, which has been decided on. It has to be in review before the transaction ends. */
export async function insertBeside(tx: Tx, claimId: bigint, now: Date): Promise<DirectPayment> {
  const [made] = await readPayments(
    tx,
    (columns) => sql`
      insert into payments (purpose, path, status, listing_id, merchant_id, body_hash, chain_id, asset, payee, payer, value_units,
        intent_id, window_from, window_to, surplus, beside, settling_at, created_at, updated_at)
      select purpose, path, 'settling', listing_id, merchant_id, body_hash, chain_id, asset, payee, payer, value_units,
        intent_id, window_from, window_to, true, id, ${now}, ${now}, ${now}
      from payments where id = ${claimId}
      returning ${columns}`,
  );
  const beside = onlyDirect(made);
  if (beside === null) throw new TypeError('beside a claim that is none');
  return beside;
}

/** The transaction is no longer one of the claim's: it has a payment of its own. */
export async function handOverHash(tx: Tx, claimId: bigint, besideId: bigint, txHash: Hex): Promise<void> {
  await tx.run(
    sql`update claim_hashes set payment_id = ${besideId}, proven = true
      where payment_id = ${claimId} and tx_hash = ${toBytes(txHash)}`,
  );
}

/** Whether another claim of that wallet, still open, names it too: then it may be what pays for that one. */
export async function isNamedElsewhere(
  tx: Tx,
  { id, payer }: Pick<DirectPayment, 'id' | 'payer'>,
  txHash: Hex,
): Promise<boolean> {
  const { found } = await tx.one<{ found: boolean }>(
    sql`select exists (select from payments p join claim_hashes h on h.payment_id = p.id
      where p.status = 'settling' and p.path = 'direct' and p.payer = ${toBytes(payer)} and p.id <> ${id}
        and h.tx_hash = ${toBytes(txHash)} and h.refused_reason is null and not h.proven) as found`,
  );
  return found;
}

/** Claims that have been decided on and name transactions that have not, the oldest first. */
export function listWithMore(queryable: Queryable, afterId: bigint, limit: number): Promise<Payment[]> {
  return readPayments(
    queryable,
    (columns) => sql`select ${columns} from payments where id > ${afterId}
      and id in (select payment_id from claim_hashes where refused_reason is null and not proven)
      and status not in ('verifying', 'settling') order by id limit ${limit}`,
  );
}
