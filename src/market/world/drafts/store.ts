import sql from 'sql-template-tag';
import type { DraftState } from '../../../contract/world-records.ts';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../../platform/hex.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { findWalletKind } from '../../listings/store.ts';

/** What a merchant means to sell. None of it changes. */
export interface DraftTerms {
  merchantId: bigint;
  title: string;
  description: string;
  preview: string;
  priceUnits: bigint;
  sellerWallet: Hex;
  tags: string[];
  thingId: bigint;
}

export interface Draft extends DraftTerms {
  id: bigint;
  /** The merchant's. */
  seller: string;
  /** As it was written: a pending one may be over. */
  state: DraftState;
  listingId: bigint | null;
  createdAt: Date;
  expiresAt: Date;
}

interface Row {
  id: bigint;
  merchant_id: bigint;
  handle: string;
  title: string;
  description: string;
  preview: string;
  price_units: bigint;
  seller_wallet: Buffer;
  tags: string[];
  thing_id: bigint;
  state: DraftState;
  listing_id: bigint | null;
  created_at: Date;
  expires_at: Date;
}

const select = sql`select d.id, d.merchant_id, m.handle, d.title, d.description, d.preview, d.price_units, d.seller_wallet, d.tags,
    d.thing_id, d.state, d.listing_id, d.created_at, d.expires_at
  from world_drafts d join merchants m on m.id = d.merchant_id`;

function draftOf(row: Row | null): Draft | null {
  return (
    row && {
      id: row.id,
      merchantId: row.merchant_id,
      seller: row.handle,
      title: row.title,
      description: row.description,
      preview: row.preview,
      priceUnits: row.price_units,
      sellerWallet: toHex(row.seller_wallet),
      tags: row.tags,
      thingId: row.thing_id,
      state: row.state,
      listingId: row.listing_id,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
    }
  );
}

export async function findDraft(queryable: Queryable, id: bigint): Promise<Draft | null> {
  return draftOf(await queryable.maybe<Row>(sql`${select} where d.id = ${id}`));
}

/** Until the end of the transaction no other one moves it. */
export async function lockDraft(tx: Tx, id: bigint): Promise<Draft | null> {
  return draftOf(await tx.maybe<Row>(sql`${select} where d.id = ${id} for update of d`));
}

/** The one that is pending, or whose fee is under way. */
export async function lockOpenDraftOf(tx: Tx, merchantId: bigint): Promise<Draft | null> {
  return draftOf(
    await tx.maybe<Row>(
      sql`${select} where d.merchant_id = ${merchantId} and d.state in ('pending', 'fee_pending') for update of d`,
    ),
  );
}

/** Call under the lock `world_drafts`: ids then follow the order of commits. */
export async function insertDraft(
  tx: Tx,
  terms: DraftTerms,
  time: { createdAt: Date; expiresAt: Date },
): Promise<bigint> {
  const { id } = await tx.one<{ id: bigint }>(
    sql`insert into world_drafts (id, merchant_id, title, description, preview, price_units, seller_wallet, tags, thing_id, created_at,
        expires_at)
      select next_id('world_drafts', max(id)), ${terms.merchantId}, ${terms.title}, ${terms.description}, ${terms.preview},
        ${terms.priceUnits}, ${toBytes(terms.sellerWallet)}, ${terms.tags}::text[], ${terms.thingId}, ${time.createdAt},
        ${time.expiresAt}
      from world_drafts returning id`,
  );
  return id;
}

/** Ended without a listing: canceled, or expired. Its wallet is held no more. */
export async function endDraft(tx: Tx, id: bigint, state: 'canceled' | 'expired', at: Date): Promise<void> {
  await tx.run(sql`update world_drafts set state = ${state}, held_wallet = null, ended_at = ${at} where id = ${id}`);
}

/** Its fee is under way. The wallet has to be held before. */
export async function keepDraftForFee(tx: Tx, id: bigint, fee: { paymentId: bigint; offerId: bigint }): Promise<void> {
  await tx.run(
    sql`update world_drafts set state = 'fee_pending', payment_id = ${fee.paymentId}, offer_id = ${fee.offerId},
      held_wallet = seller_wallet where id = ${id}`,
  );
}

/** The fee came to no listing, and its time is not over. */
export async function reopenDraft(tx: Tx, id: bigint): Promise<void> {
  await tx.run(
    sql`update world_drafts set state = 'pending', held_wallet = null, payment_id = null, offer_id = null where id = ${id}`,
  );
}

/** The wallet has to be held before. */
export async function markListed(
  tx: Tx,
  id: bigint,
  given: { listingId: bigint; offerId: bigint; at: Date },
): Promise<void> {
  await tx.run(
    sql`update world_drafts set state = 'listed', listing_id = ${given.listingId}, offer_id = ${given.offerId},
      held_wallet = seller_wallet, ended_at = ${given.at} where id = ${id}`,
  );
}

/**
 * From now on it sells things only; refuses one that sells goods. Who holds a wallet of things and who lets go of one wait for each other:
 * what is seen here is still there at the end. Not by the row, whose lock takes a right that the market's role has not.
 */
export async function holdWallet(tx: Tx, wallet: Hex): Promise<void> {
  await tx.lock(walletLock(wallet));
  const bytes = toBytes(wallet);
  await tx.run(sql`insert into wallet_uses (wallet, kind) values (${bytes}, 'world') on conflict (wallet) do nothing`);
  if ((await findWalletKind(tx, wallet)) !== 'world') throw new Refusal('wallet_in_use');
}

/** Unless another draft holds it, or a listing has it. */
export async function freeWallet(tx: Tx, wallet: Hex): Promise<void> {
  await tx.lock(walletLock(wallet));
  const bytes = toBytes(wallet);
  await tx.run(
    sql`delete from wallet_uses where wallet = ${bytes} and kind = 'world'
      and not exists (select from world_drafts where held_wallet = ${bytes})
      and not exists (select from listings where seller_wallet = ${bytes})`,
  );
}

function walletLock(wallet: Hex): string {
  return `world_wallet:${wallet}`;
}
