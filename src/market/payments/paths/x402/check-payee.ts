import { RpcFailure } from '../../../../platform/chain/rpc.ts';
import { readBlacklisted, readPaused } from '../../../../platform/chain/usdc-reads.ts';
import type { Hex } from '../../../../platform/hex.ts';
import { Refusal } from '../../../../platform/refusal.ts';
import type { Market } from '../../../context.ts';

type Needs = Pick<Market, 'rpc' | 'clock' | 'config'>;

const CACHE_MS = 60_000;
const CACHE_SIZE = 10_000;

/** Asks whether money can reach a wallet at all; answers are kept for a minute. One per market. */
export function createPayeeCheck(market: Needs) {
  const known = new Map<Hex | 'paused', { value: boolean; readAt: number }>();

  async function read(key: Hex | 'paused', ask: () => Promise<boolean>): Promise<boolean> {
    const hit = known.get(key);
    if (hit && market.clock.now() - hit.readAt < CACHE_MS) return hit.value;
    const value = await ask();
    if (known.size >= CACHE_SIZE) known.clear();
    known.set(key, { value, readAt: market.clock.now() });
    return value;
  }

  return {
    /** Throws 503 usdc_paused, 409 payee_cannot_receive, or 503 payment_check_unavailable while the chain cannot be read. */
    async mustReceive(payee: Hex): Promise<void> {
      const { rpc, config } = market;
      const { usdc } = config.network;
      let paused: boolean;
      let blocked: boolean;
      try {
        [paused, blocked] = await Promise.all([
          read('paused', () => readPaused(rpc, usdc)),
          read(payee, () => readBlacklisted(rpc, usdc, payee)),
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
export type PayeeCheck = ReturnType<typeof createPayeeCheck>;
