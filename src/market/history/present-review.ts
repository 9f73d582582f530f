import type { z } from 'zod';
import { checksummed } from '../../contract/chain-values.ts';
import type { reviewOut } from '../../contract/merchants.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import { REVIEW_DAYS } from '../../contract/vocabulary.ts';
import { isoTime } from '../../platform/clock.ts';
import { toHex } from '../../platform/hex.ts';
import type { ReviewRow } from './store.ts';

const DAY_MS = 86_400_000;

export function presentReview(row: ReviewRow): z.input<typeof reviewOut> {
  return {
    payment_id: Number(row.id),
    purpose: row.purpose,
    listing_id: row.listing_id === null ? null : Number(row.listing_id),
    reason: row.end_reason,
    payer_wallet: checksummed(toHex(row.payer)),
    payee_wallet: checksummed(toHex(row.payee)),
    asked_usdc: usdcOfUnits(row.asked_units),
    received_usdc: usdcOfUnits(row.received_units),
    tx_hash: row.tx_hash && toHex(row.tx_hash),
    block_time: row.block_time && isoTime(row.block_time),
    decide_by: isoTime(row.ended_at.getTime() + REVIEW_DAYS * DAY_MS),
  };
}
