import type { Rpc } from '../../platform/chain/rpc.ts';
import { readBalance } from '../../platform/chain/usdc-reads.ts';
import type { Market } from '../context.ts';

const KEPT_MS = 15_000;
/** Until a chain that did not answer is asked again. */
const KEPT_UNKNOWN_MS = 3_000;
const DEADLINE_MS = 1_500;

interface Reading {
  at: number;
  units: Promise<bigint | null>;
}

const readings = new WeakMap<Rpc, Reading>();

/** What the chain holds for the treasury, at most some seconds old; null while the chain cannot be read. */
export async function treasuryBalance(market: Pick<Market, 'rpc' | 'clock' | 'config'>): Promise<bigint | null> {
  const { rpc, clock, config } = market;
  const last = readings.get(rpc);
  if (last && clock.now() - last.at < KEPT_MS) return last.units;
  const prompt: Rpc = { ...rpc, call: (method, params) => rpc.call(method, params, { deadlineMs: DEADLINE_MS }) };
  const units = readBalance(prompt, config.network.usdc, config.treasury).catch(() => {
    readings.set(rpc, { at: clock.now() - KEPT_MS + KEPT_UNKNOWN_MS, units });
    return null;
  });
  readings.set(rpc, { at: clock.now(), units });
  return units;
}
