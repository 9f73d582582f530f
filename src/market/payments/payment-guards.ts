import { type Rpc, RpcFailure } from '../../platform/chain/rpc.ts';
import { searchLogs } from '../../platform/chain/search-logs.ts';
import {
  addressTopic,
  decodeTransfer,
  readBlacklisted,
  readPaused,
  TRANSFER_TOPIC,
} from '../../platform/chain/usdc.ts';
import type { Hex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import type { ChainHead } from './chain/read-head.ts';
import { keepUnrecorded, type LostWindow, listLostWindows, RECENT_RECOVERY_MS } from './proof-store.ts';

type PayeeCheckMarket = Pick<Market, 'rpc' | 'clock' | 'config'>;

const PAYEE_CACHE_MS = 60_000;
const PAYEE_CACHE_SIZE = 10_000;

/** Checks whether a wallet can receive USDC at all, and caches the answer for a minute. Create one per market. */
export function createPayeeCheck(market: PayeeCheckMarket) {
  const cache = new Map<Hex | 'paused', { value: boolean; readAt: number }>();

  async function readCached(key: Hex | 'paused', ask: () => Promise<boolean>): Promise<boolean> {
    const hit = cache.get(key);
    if (hit && market.clock.now() - hit.readAt < PAYEE_CACHE_MS) return hit.value;
    const value = await ask();
    if (cache.size >= PAYEE_CACHE_SIZE) cache.clear();
    cache.set(key, { value, readAt: market.clock.now() });
    return value;
  }

  return {
    /** Throws 503 usdc_paused, 409 payee_cannot_receive, or 503 payment_check_unavailable if the chain cannot be read. */
    async mustReceive(payee: Hex): Promise<void> {
      const { rpc, config } = market;
      const { usdc } = config.network;
      let paused: boolean;
      let blocked: boolean;
      try {
        [paused, blocked] = await Promise.all([
          readCached('paused', () => readPaused(rpc, usdc)),
          readCached(payee, () => readBlacklisted(rpc, usdc, payee)),
        ]);
      } catch (error) {
        if (error instanceof RpcFailure) throw new Refusal('payment_check_unavailable', { retryAfterSeconds: 2 });
        throw error;
      }
      if (paused) throw new Refusal('usdc_paused', { retryAfterSeconds: 60 });
      if (blocked) throw new Refusal('payee_cannot_receive');
    },
  };
}
interface Opening {
  payer: Hex;
  payee: Hex;
  valueUnits: bigint;
  /** Whether the payer wants to pay even if an earlier transfer may have been this payment. */
  payAnew: boolean;
}

type LostPaymentMarket = Pick<Market, 'config' | 'database' | 'clock' | 'hasRecentRecovery'>;

/**
 * Stops a buyer from paying twice after a recovery: the market may have lost the first payment without the buyer's knowledge. Searches the
 * chain for an unrecorded transfer of exactly this value from this payer to this payee. Costs nothing without a recent recovery.
 */
export async function mustNotBePaid(
  market: LostPaymentMarket,
  readHead: () => Promise<ChainHead>,
  opening: Opening,
): Promise<void> {
  if (opening.payAnew || !market.hasRecentRecovery()) return;
  const { config, clock, database } = market;
  const { chainId } = config.network;
  const windows = await listLostWindows(database, chainId, new Date(clock.now() - RECENT_RECOVERY_MS));
  if (windows.length === 0) return;
  try {
    const head = await readHead();
    if (head.chainId !== chainId) throw notReadable();
    for (const window of windows) {
      // A lagging provider has not seen the whole window.
      if (head.latest.number < window.toBlock) throw notReadable();
      await mustNotBeInWindow(market, head.rpc, window, opening);
    }
  } catch (error) {
    throw error instanceof RpcFailure ? notReadable() : error;
  }
}

/** Adds "do not pay again" if the chain cannot be read after a recovery. */
export function warnAfterRecovery(market: Pick<LostPaymentMarket, 'hasRecentRecovery'>, refusal: Refusal): Refusal {
  if (refusal.reason !== 'payment_check_unavailable' || !market.hasRecentRecovery()) return refusal;
  return new Refusal(refusal.reason, { ...refusal.options, doNotPayAgain: true });
}

function notReadable(): Refusal {
  return new Refusal('payment_check_unavailable', { retryAfterSeconds: 2, doNotPayAgain: true });
}

async function mustNotBeInWindow(
  { config, database }: LostPaymentMarket,
  rpc: Rpc,
  window: LostWindow,
  opening: Opening,
): Promise<void> {
  const { usdc } = config.network;
  const { payer, payee, valueUnits } = opening;
  const topics = [TRANSFER_TOPIC, addressTopic(payer), addressTopic(payee)];
  const most = window.toBlock - window.fromBlock + 1n;
  const logs = await searchLogs(rpc, { address: usdc, topics, ...window, most });
  const transfers = logs.filter((log) => decodeTransfer(log)?.value === valueUnits);
  if (transfers.length === 0) return;
  const [hash] = await keepUnrecorded(database, [...new Set(transfers.map((log) => log.transactionHash))]);
  const lost = transfers.find((log) => log.transactionHash === hash);
  if (lost === undefined) return;
  const block = Number(lost.blockNumber);
  throw new Refusal('payment_may_be_lost', {
    detail: `Transaction ${lost.transactionHash} in block ${block} moved exactly this amount from this wallet to this payee.`,
    fields: { tx_hash: lost.transactionHash, block },
  });
}
