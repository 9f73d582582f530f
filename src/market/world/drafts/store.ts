import sql from 'sql-template-tag';
import { z } from 'zod';
import type { DraftState } from '../../../contract/world-records.ts';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../../platform/hex.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { flagListing } from '../../listings/flag-text.ts';
import { findWalletKind } from '../../listings/store.ts';

/** The offer as compared with the draft. It is listed once the fee is final. */
export const listedOffer = z.strictObject({
  city_origin: z.string(),
  offer_id: z.int().positive(),
  seller_handle: z.string(),
  offer_url: z.string(),
  thing_url: z.string(),
});
export type ListedOffer = z.output<typeof listedOffer>;

export interface ThingToAdd {
  /** The draft's row must be locked. */
  draft: Draft;
  offer: ListedOffer;
  bodyHash: Buffer;
  /** Null only for the maintainer, who pays no fee. The log records such a listing as `maintainer_seed`. */
  feeId: bigint | null;
}

/** The allowed steps of a draft; the trigger `world_drafts_step` enforces the same ones. */
export const DRAFT_STEPS = {
  open_fee: { pending: 'fee_pending' },
  // If the fee ends unpaid or its listing fails, the draft continues unless it has expired.
  lose_fee: { fee_pending: 'pending' },
  list: { pending: 'listed', fee_pending: 'listed' },
  cancel: { pending: 'canceled' },
  expire: { pending: 'expired', fee_pending: 'expired' },
} as const satisfies Record<string, Partial<Record<DraftState, DraftState>>>;

type DraftAct = keyof typeof DRAFT_STEPS;

export function nextDraftState(state: DraftState, act: DraftAct): DraftState | null {
  const steps: Partial<Record<DraftState, DraftState>> = DRAFT_STEPS[act];
  return steps[state] ?? null;
}

/** The terms of a draft, which never change. */
export interface DraftTerms {
  merchantId: bigint;
  title: string;
  description: string;
  preview: string;
  priceUnits: bigint;
  sellerWallet: Hex;
  tags: string[];
  keywords: string[];
  thingId: bigint;
}

export interface Draft extends DraftTerms {
  id: bigint;
  seller: string;
  /** The stored state. A pending draft may already be past its time. */
  state: DraftState;
  listingId: bigint | null;
  /** Whether the maintainer removed its listing and did not restore it. */
  isRemoved: boolean;
  createdAt: Date;
  expiresAt: Date;
}

interface DraftRow {
  id: bigint;
  merchant_id: bigint;
  handle: string;
  title: string;
  description: string;
  preview: string;
  price_units: bigint;
  seller_wallet: Buffer;
  tags: string[];
  keywords: string[];
  thing_id: bigint;
  state: DraftState;
  listing_id: bigint | null;
  is_removed: boolean;
  created_at: Date;
  expires_at: Date;
}

const selectDraft = sql`select d.id, d.merchant_id, m.handle, d.title, d.description, d.preview, d.price_units, d.seller_wallet, d.tags,
    d.keywords, d.thing_id, d.state, d.listing_id, d.created_at, d.expires_at,
    exists (select from listings l where l.id = d.listing_id and l.removed_at is not null) as is_removed
  from world_drafts d join merchants m on m.id = d.merchant_id`;

function draftOf(row: DraftRow | null): Draft | null {
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
      keywords: row.keywords,
      thingId: row.thing_id,
      state: row.state,
      listingId: row.listing_id,
      isRemoved: row.is_removed,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
    }
  );
}

export async function findDraft(queryable: Queryable, id: bigint): Promise<Draft | null> {
  return draftOf(await queryable.maybe<DraftRow>(sql`${selectDraft} where d.id = ${id}`));
}

export async function lockDraft(tx: Tx, id: bigint): Promise<Draft | null> {
  return draftOf(await tx.maybe<DraftRow>(sql`${selectDraft} where d.id = ${id} for update of d`));
}

/** Locks the merchant's draft if it or its fee is pending. */
export async function lockOpenDraftOf(tx: Tx, merchantId: bigint): Promise<Draft | null> {
  return draftOf(
    await tx.maybe<DraftRow>(
      sql`${selectDraft} where d.merchant_id = ${merchantId} and d.state in ('pending', 'fee_pending') for update of d`,
    ),
  );
}

/** Call under the lock `world_drafts`, so that ids follow commit order. */
export async function insertDraft(
  tx: Tx,
  terms: DraftTerms,
  time: { createdAt: Date; expiresAt: Date },
): Promise<bigint> {
  const { id } = await tx.one<{ id: bigint }>(
    sql`insert into world_drafts (id, merchant_id, title, description, preview, price_units, seller_wallet, tags, keywords, thing_id,
        created_at, expires_at)
      select next_id('world_drafts', max(id)), ${terms.merchantId}, ${terms.title}, ${terms.description}, ${terms.preview},
        ${terms.priceUnits}, ${toBytes(terms.sellerWallet)}, ${terms.tags}::text[], ${terms.keywords}::text[], ${terms.thingId},
        ${time.createdAt}, ${time.expiresAt}
      from world_drafts returning id`,
  );
  return id;
}

/** Ends a draft without a listing. The draft no longer holds its wallet, which `releaseWallet` can then release. */
export async function endDraft(tx: Tx, id: bigint, state: 'canceled' | 'expired', at: Date): Promise<void> {
  await tx.run(sql`update world_drafts set state = ${state}, held_wallet = null, ended_at = ${at} where id = ${id}`);
}

/** Marks the draft's fee as pending. Call `reserveWallet` first. */
export async function keepDraftForFee(tx: Tx, id: bigint, fee: { paymentId: bigint; offerId: bigint }): Promise<void> {
  await tx.run(
    sql`update world_drafts set state = 'fee_pending', payment_id = ${fee.paymentId}, offer_id = ${fee.offerId},
      held_wallet = seller_wallet where id = ${id}`,
  );
}

export async function reopenDraft(tx: Tx, id: bigint): Promise<void> {
  await tx.run(
    sql`update world_drafts set state = 'pending', held_wallet = null, payment_id = null, offer_id = null where id = ${id}`,
  );
}

/** Call `reserveWallet` first. */
export async function markListed(
  tx: Tx,
  id: bigint,
  listed: { listingId: bigint; offerId: bigint; at: Date },
): Promise<void> {
  await tx.run(
    sql`update world_drafts set state = 'listed', listing_id = ${listed.listingId}, offer_id = ${listed.offerId},
      held_wallet = seller_wallet, ended_at = ${listed.at} where id = ${id}`,
  );
}

/**
 * Reserves the wallet for selling things, and refuses a wallet that sells goods. All code that reserves or frees such a wallet takes this
 * named lock, so the result of the check is still true at commit. A row lock is not possible, because the market's role lacks that right.
 */
export async function reserveWallet(tx: Tx, wallet: Hex): Promise<void> {
  await tx.lock(walletLock(wallet));
  const bytes = toBytes(wallet);
  await tx.run(sql`insert into wallet_uses (wallet, kind) values (${bytes}, 'world') on conflict (wallet) do nothing`);
  if ((await findWalletKind(tx, wallet)) !== 'world') throw new Refusal('wallet_in_use');
}

/** Frees the wallet unless another draft holds it or a listing uses it. */
export async function releaseWallet(tx: Tx, wallet: Hex): Promise<void> {
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

export async function isOfferListed(
  queryable: Queryable,
  { city_origin: origin, offer_id: id }: Pick<ListedOffer, 'city_origin' | 'offer_id'>,
): Promise<boolean> {
  const row = await queryable.one<{ listed: boolean }>(
    sql`select exists (select from world_listings where city_origin = ${origin} and offer_id = ${id}) as listed`,
  );
  return row.listed;
}

/** Call under the lock `listings`, so that ids follow commit order. */
export async function insertThing(
  tx: Tx,
  { draft, offer, bodyHash, feeId, at, chainId }: ThingToAdd & { at: Date; chainId: bigint },
): Promise<bigint> {
  const flags = flagListing(draft);
  const { id } = await tx.one<{ id: bigint }>(
    sql`insert into listings (id, merchant_id, title, description, preview, price_units, seller_wallet, wallet_kind, chain_id, tags,
        keywords, aisle, created_at, body_hash, fee_id, text_flags)
      select next_id('listings', max(id)), ${draft.merchantId}, ${draft.title}, ${draft.description}, ${draft.preview},
        ${draft.priceUnits}, ${toBytes(draft.sellerWallet)}, 'world', ${chainId}, ${draft.tags}::text[],
        ${draft.keywords}::text[], 'world', ${at}, ${bodyHash}, ${feeId}, ${flags}::text[]
      from listings returning id`,
  );
  await tx.run(
    sql`insert into world_listings (listing_id, draft_id, city_origin, offer_id, thing_id, seller_handle, offer_url, thing_url, phase,
        looked_at)
      values (${id}, ${draft.id}, ${offer.city_origin}, ${offer.offer_id}, ${draft.thingId}, ${offer.seller_handle},
        ${offer.offer_url}, ${offer.thing_url}, 'listed', ${at})`,
  );
  return id;
}
