import type { z } from 'zod';
import type { Appeal } from '../../contract/appeals.ts';
import { checksummed } from '../../contract/chain-values.ts';
import type { CommentOut, replyOut } from '../../contract/feedback.ts';
import { ATTRIBUTE_NAMES, type Attributes } from '../../contract/listing-fields.ts';
import type { ListingDetail, ListingSummary, ownOutline } from '../../contract/listings.ts';
import { mixesLookAlikes } from '../../contract/look-alikes.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import { LOOK_ALIKE_NOTE } from '../../contract/seen-text.ts';
import {
  type Aisle,
  FIRST_LINE_CHARACTERS,
  type ListingState,
  MAINTAINER_MERCHANT_ID,
} from '../../contract/vocabulary.ts';
import type { WorldReceipt, WorldState } from '../../contract/world-records.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { toHex } from '../../platform/hex.ts';
import {
  type AppealFacts,
  attributesOf,
  type CommentRow,
  type ListingRow,
  type ReceiptFacts,
  readListing,
  type WorldFacts,
} from './store.ts';

export const REMOVAL_NOTICE = 'Removed by the maintainer';

/** A removed listing keeps its texts in the row for a later restore. No response shows them, even if the thing is sold later. */
export function shownTitle(row: { removed_at: Date | null; title: string }): string {
  return row.removed_at === null ? row.title : REMOVAL_NOTICE;
}

export function shownDescription(row: Pick<ListingRow, 'removed_at' | 'description'>): string {
  return row.removed_at === null ? row.description : '';
}

function maintainerMark(isMaintainer: boolean): { maintainer?: true } {
  return isMaintainer ? { maintainer: true } : {};
}

function lookAlikeNote(title: string): { title_note?: string } {
  return mixesLookAlikes(title) ? { title_note: LOOK_ALIKE_NOTE } : {};
}

const NO_ATTRIBUTES = Object.fromEntries(ATTRIBUTE_NAMES.map((name) => [name, null])) as Attributes;

export function presentSummary(row: ListingRow): ListingSummary {
  const title = shownTitle(row);
  const isRemoved = row.removed_at !== null;
  return {
    id: Number(row.id),
    title,
    ...lookAlikeNote(title),
    price_usdc: usdcOfUnits(row.price_units),
    merchant: row.merchant,
    ...maintainerMark(row.merchant_id === BigInt(MAINTAINER_MERCHANT_ID)),
    aisle: row.aisle,
    verified_sales: Number(row.verified_sales),
    // All members above, together with the first line, form the outline.
    description: shownDescription(row),
    preview: isRemoved ? '' : row.preview,
    store_url: `/api/store/${row.merchant}`,
    seller_wallet: checksummed(toHex(row.seller_wallet)),
    tags: isRemoved ? [] : row.tags,
    keywords: isRemoved ? [] : row.keywords,
    votes: Number(row.votes),
    votes_by_buyers: Number(row.buyer_votes),
    sales: Number(row.sales),
    created_at: isoTime(row.created_at),
    // Keep the following members in the order of USUAL_MEMBERS, so that most listings share these bytes.
    pinned: row.pinned,
    ...(row.world === null ? GOODS_MEMBERS : presentThing(row.world, row.state)),
    state: row.state,
    supersedes: row.supersedes === null ? null : Number(row.supersedes),
    superseded_by: row.superseded_by === null ? null : Number(row.superseded_by),
    text_flags: row.text_flags,
    artifact_commitment: row.artifact_commitment && toHex(row.artifact_commitment),
    artifact_bytes: row.artifact_bytes,
    // These are also the merchant's free text, so a removal hides them. Purchases keep them.
    artifact_media_type: isRemoved ? null : row.artifact_media_type,
    ...(isRemoved ? NO_ATTRIBUTES : attributesOf(row)),
  };
}

const FIRST_LINE = new RegExp(`^[^\\r\\n]{0,${FIRST_LINE_CHARACTERS}}`, 'u');

/** Returns an exact prefix of the text, because the catalog serves both from the same bytes. Never splits a character. */
export function firstLine(text: string): string {
  return FIRST_LINE.exec(text)?.[0] ?? '';
}

export function presentOwnOutline(row: ListingRow): z.output<typeof ownOutline> {
  const { id, title, price_usdc, merchant, aisle, verified_sales, state, description } = presentSummary(row);
  const first_line = firstLine(description);
  const mark = maintainerMark(row.merchant_id === BigInt(MAINTAINER_MERCHANT_ID));
  return {
    id,
    title,
    ...lookAlikeNote(title),
    price_usdc,
    merchant,
    ...mark,
    aisle,
    verified_sales,
    first_line,
    state,
  };
}

const GOODS_MEMBERS = {
  delivery_kind: 'artifact',
  city_url: null,
  world_offer_id: null,
  world_asset_id: null,
  world_seller_handle: null,
  world_draft_id: null,
  world_state: null,
  city_offer_url: null,
  world_asset_url: null,
  requires_city_resident: false,
} satisfies Partial<ListingSummary>;

/** Members that most summaries share. They are contiguous in the JSON. */
const USUAL_MEMBERS = {
  pinned: false,
  ...GOODS_MEMBERS,
  state: 'live',
  supersedes: null,
  superseded_by: null,
  text_flags: [],
} satisfies Partial<ListingSummary>;

export const USUAL_JSON = `,${JSON.stringify(USUAL_MEMBERS).slice(1, -1)},`;

function presentThing(world: WorldFacts, state: ListingState): Pick<ListingSummary, keyof typeof GOODS_MEMBERS> {
  return {
    delivery_kind: 'city_ownership',
    city_url: world.city_url,
    world_offer_id: world.offer_id,
    world_asset_id: world.thing_id,
    world_seller_handle: world.seller_handle,
    world_draft_id: world.draft_id,
    world_state: worldStateOf(state),
    city_offer_url: world.offer_url,
    world_asset_url: world.thing_url,
    requires_city_resident: true,
  };
}

/** Returns `active` also for withdrawn or removed things, because their offer in the city continues; only checkouts here end. */
export function worldStateOf(state: ListingState): WorldState {
  return state === 'sold' || state === 'canceled' || state === 'stale' ? state : 'active';
}

export function presentReceipt({ claimed_ms, ...receipt }: ReceiptFacts): WorldReceipt {
  return { ...receipt, claimed_at: isoTime(new Date(claimed_ms)) };
}

/** Returns the members that a detail has beyond the summary. */
export function presentEnding(row: ListingRow): Omit<ListingDetail, keyof ListingSummary> {
  return {
    removed: row.removed_at !== null,
    removed_at: row.removed_at && isoTime(row.removed_at),
    removed_reason: row.removed_reason,
    removed_reason_code: row.removed_reason_code,
    withdrawn: row.withdrawn_at !== null,
    withdrawn_at: row.withdrawn_at && isoTime(row.withdrawn_at),
    withdrawn_reason: row.removed_at === null ? row.withdrawn_reason : null,
    appeal: row.appeal && presentAppeal(row.appeal, row.id),
    world_receipt: row.world?.receipt ? presentReceipt(row.world.receipt) : null,
  };
}

export function presentAppeal(appeal: AppealFacts, listingId: bigint): Appeal {
  return {
    id: appeal.id,
    listing_id: Number(listingId),
    statement: appeal.statement,
    created_at: isoTime(new Date(appeal.created_ms)),
    outcome: appeal.outcome,
    outcome_reason: appeal.outcome_reason,
    decided_at: appeal.decided_ms === null ? null : isoTime(new Date(appeal.decided_ms)),
  };
}

export function presentDetail(row: ListingRow): ListingDetail {
  return { ...presentSummary(row), ...presentEnding(row) };
}

const ENDINGS: Readonly<Record<Exclude<ListingState, 'live'>, string>> = {
  removed: 'it was removed by the maintainer',
  withdrawn: 'it was withdrawn by its merchant',
  sold: 'it is sold',
  canceled: 'it was canceled',
  stale: 'it has lapsed',
};

/** Returns the message shown in place of the goods. The aisle `world` holds all things from a city and nothing else. */
export function artifactMessage({
  id,
  state,
  aisle,
}: {
  id: bigint | number;
  state: ListingState;
  aisle: Aisle;
}): string {
  if (state !== 'live') return `Unavailable: this listing is not for sale, ${ENDINGS[state]}.`;
  if (aisle === 'world') return `Purchase required: POST /api/world/checkout/${id} opens the way to it.`;
  return `Purchase required: POST /api/buy/${id} delivers the artifact.`;
}

export async function readListingDetail(database: Queryable, id: bigint): Promise<ListingDetail | null> {
  const row = await readListing(database, id);
  return row && presentDetail(row);
}

export function presentComment(row: CommentRow): CommentOut {
  return {
    id: Number(row.id),
    handle: row.handle,
    ...maintainerMark(row.maintainer),
    parent_id: row.parent_id === null ? null : Number(row.parent_id),
    body: row.body,
    verified_buyer: row.verified_buyer,
    created_at: isoTime(row.created_at),
    removed: row.removed,
    removed_reason_code: row.removed_reason_code,
    text_flags: row.text_flags,
  };
}

export function presentReply(row: CommentRow): z.output<typeof replyOut> {
  return { ...presentComment(row), listing_id: Number(row.listing_id) };
}
