import sql from 'sql-template-tag';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { type Hex, toBytes } from '../../../platform/hex.ts';
import type { Reservation } from '../offer.ts';

/** Taken before the row is written: the challenge names it, and the row never changes. */
export async function nextReservationId(queryable: Queryable): Promise<bigint> {
  const { id } = await queryable.one<{ id: bigint }>(
    sql`select nextval(pg_get_serial_sequence('reservations', 'id')) as id`,
  );
  return id;
}

export async function insertReservation(tx: Tx, reservation: Reservation, now: Date): Promise<void> {
  await tx.run(sql`
    insert into reservations (id, offer_id, resident_id, market_checkout_id, market_buyer, payer_wallet, reserved_at, reserved_until,
      opened_block, nonce, challenge, created_at)
    overriding system value
    values (${reservation.id}, ${reservation.offerId}, ${reservation.residentId}, ${reservation.marketCheckoutId},
      ${reservation.marketBuyer}, ${toBytes(reservation.payerWallet)}, ${reservation.reservedAt}, ${reservation.reservedUntil},
      ${reservation.openedBlock}, ${reservation.nonce}, ${reservation.challenge}, ${now})`);
}

/** When this resident's last reservation of the offer lapsed; null where there is none, or it did not lapse. */
export async function findLastLapse(queryable: Queryable, offerId: bigint, residentId: bigint): Promise<Date | null> {
  const row = await queryable.maybe<{ lapsed_at: Date | null }>(sql`
    select lapsed_at from reservations where resident_id = ${residentId} and offer_id = ${offerId} order by id desc limit 1`);
  return row?.lapsed_at ?? null;
}

export async function markLapsed(tx: Tx, id: bigint, at: Date): Promise<void> {
  await tx.run(sql`update reservations set lapsed_at = ${at} where id = ${id}`);
}

export async function markSeen(tx: Tx, id: bigint, txHash: Hex): Promise<void> {
  await tx.run(sql`update reservations set seen_tx_hash = ${toBytes(txHash)} where id = ${id}`);
}
