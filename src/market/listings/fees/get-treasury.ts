import { checksummed } from '../../../contract/chain-values.ts';
import type { Endpoints } from '../../../contract/index.ts';
import { usdcOfUnits } from '../../../contract/money.ts';
import type { Rpc } from '../../../platform/chain/rpc.ts';
import { readBalance } from '../../../platform/chain/usdc.ts';
import { isoTime } from '../../../platform/clock.ts';
import { toHex } from '../../../platform/hex.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market, MarketOperation } from '../../context.ts';
import { type FeeRow, readFees } from './store.ts';

export const getTreasury: MarketOperation<Endpoints['getTreasury']> = async (market, call) => {
  const { limit, before_id } = call.query;
  const [{ count, collectedUnits, rows }, balance] = await Promise.all([
    readFees(market.database, { limit, beforeId: before_id ?? null }),
    treasuryBalance(market),
  ]);
  if (before_id !== undefined && before_id > count)
    throw new Refusal('cursor_invalid', { detail: 'before_id does not name a fee.' });
  const last = rows.at(-1);
  const hasMore = last !== undefined && last.id > 1n;
  return {
    status: 200,
    body: {
      address: checksummed(market.config.treasury),
      network: market.config.network.name,
      recent_fees: rows.map(presentFee),
      fees_count: Number(count),
      fees_returned: rows.length,
      fees_page_size: limit,
      fees_has_more: hasMore,
      fees_next_before_id: hasMore ? Number(last.id) : null,
      fees_collected_usdc: usdcOfUnits(collectedUnits),
      usdc_balance_onchain: balance === null ? null : usdcOfUnits(balance),
    },
  };
};

function presentFee(row: FeeRow) {
  return {
    id: Number(row.id),
    listing_id: row.listing_id === null ? null : Number(row.listing_id),
    merchant: row.merchant,
    amount_usdc: usdcOfUnits(row.amount_units),
    tx_hash: toHex(row.tx_hash),
    verified_via: row.verified_via,
    block_time: isoTime(row.block_time),
    created_at: isoTime(row.created_at),
  };
}

const CACHED_MS = 15_000;
/** How long to wait before asking the chain again after a failure. */
const RETRY_AFTER_FAILURE_MS = 3_000;
const DEADLINE_MS = 1_500;

interface Reading {
  at: number;
  units: Promise<bigint | null>;
}

const readings = new WeakMap<Rpc, Reading>();

/** Returns the treasury's balance on the chain, at most 15 seconds old. Null if the chain cannot be read. */
async function treasuryBalance(market: Pick<Market, 'rpc' | 'clock' | 'config'>): Promise<bigint | null> {
  const { rpc, clock, config } = market;
  const last = readings.get(rpc);
  if (last && clock.now() - last.at < CACHED_MS) return last.units;
  const prompt: Rpc = { ...rpc, call: (method, params) => rpc.call(method, params, { deadlineMs: DEADLINE_MS }) };
  const units = readBalance(prompt, config.network.usdc, config.treasury).catch(() => {
    readings.set(rpc, { at: clock.now() - CACHED_MS + RETRY_AFTER_FAILURE_MS, units });
    return null;
  });
  readings.set(rpc, { at: clock.now(), units });
  return units;
}
