import type { z } from 'zod';
import type { saleOut } from '../../contract/merchants.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import type { NewerVersion, purchaseOut } from '../../contract/purchases.ts';
import { isoTime } from '../../platform/clock.ts';
import { toHex } from '../../platform/hex.ts';
import { attributesOf } from '../catalog/fields/store.ts';
import { shownTitle } from '../catalog/present-listing.ts';
import type { NewerRow } from '../purchases/store.ts';
import type { PurchaseRow, SaleRow } from './store.ts';

export function presentPurchase(row: PurchaseRow): z.output<typeof purchaseOut> {
  return {
    id: Number(row.id),
    listing_id: Number(row.listing_id),
    title: shownTitle(row),
    seller: row.seller,
    price_usdc: usdcOfUnits(row.price_units),
    paid_usdc: usdcOfUnits(row.paid_units),
    tx_hash: row.tx_hash && toHex(row.tx_hash),
    verified_via: row.verified_via,
    block_number: row.block_number === null ? null : Number(row.block_number),
    created_at: isoTime(row.created_at),
    delivery_kind: row.verified_via === 'city' ? 'city_ownership' : 'artifact',
    ...attributesOf(row),
  };
}

export function presentSale(row: SaleRow): z.output<typeof saleOut> {
  return {
    id: Number(row.id),
    listing_id: Number(row.listing_id),
    title: shownTitle(row),
    buyer: row.buyer,
    paid_usdc: usdcOfUnits(row.paid_units),
    tx_hash: row.tx_hash && toHex(row.tx_hash),
    verified_via: row.verified_via,
    created_at: isoTime(row.created_at),
  };
}

export function presentNewerVersion(row: NewerRow): NewerVersion {
  return {
    listing_id: Number(row.id),
    title: shownTitle(row),
    price_usdc: usdcOfUnits(row.price_units),
    created_at: isoTime(row.created_at),
    changed: row.changed,
    entitled: row.entitled,
  };
}
