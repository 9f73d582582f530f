import type { Appeal } from '../../contract/appeals.ts';
import { checksummed } from '../../contract/chain-values.ts';
import type { ListingDetail, ListingSummary } from '../../contract/listings.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import type { ListingState } from '../../contract/vocabulary.ts';
import { isoTime } from '../../platform/clock.ts';
import { toHex } from '../../platform/hex.ts';
import type { AppealFacts, ListingRow } from './store.ts';

export const REMOVAL_NOTICE = 'Removed by the maintainer';

/** What a removed listing was called is kept, for the day on which it is restored, and shown to nobody. */
export function shownTitle(row: { state: ListingState; title: string }): string {
  return row.state === 'removed' ? REMOVAL_NOTICE : row.title;
}

export function presentSummary(row: ListingRow): ListingSummary {
  return {
    id: Number(row.id),
    title: shownTitle(row),
    price_usdc: usdcOfUnits(row.price_units),
    merchant: row.merchant,
    description: row.description,
    preview: row.state === 'removed' ? '' : row.preview,
    store_url: `/api/store/${row.merchant}`,
    seller_wallet: checksummed(toHex(row.seller_wallet)),
    tags: row.tags,
    aisle: row.aisle,
    votes: Number(row.votes),
    sales: Number(row.sales),
    pinned: row.pinned,
    created_at: isoTime(row.created_at),
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
    state: row.state,
    artifact_commitment: toHex(row.artifact_commitment),
    artifact_bytes: row.artifact_bytes,
    artifact_media_type: row.artifact_media_type,
    verified_sales: Number(row.verified_sales),
    supersedes: row.supersedes === null ? null : Number(row.supersedes),
    superseded_by: row.superseded_by === null ? null : Number(row.superseded_by),
    text_flags: row.text_flags,
  };
}

/** What a detail says beyond the summary. */
export function presentEnding(row: ListingRow): Omit<ListingDetail, keyof ListingSummary> {
  return {
    removed: row.removed_at !== null,
    removed_at: row.removed_at && isoTime(row.removed_at),
    removed_reason: row.removed_reason,
    removed_reason_code: row.removed_reason_code,
    withdrawn: row.withdrawn_at !== null,
    withdrawn_at: row.withdrawn_at && isoTime(row.withdrawn_at),
    withdrawn_reason: row.withdrawn_reason,
    appeal: row.appeal && presentAppeal(row.appeal, row.id),
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

/** What stands in a detail where the goods would be. */
export function artifactMessage(row: { id: bigint | number; state: ListingState }): string {
  if (row.state !== 'live') return `Unavailable: this listing is not for sale, ${ENDINGS[row.state]}.`;
  return `Purchase required: POST /api/buy/${row.id} delivers the artifact.`;
}
