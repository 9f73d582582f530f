import { takeQuota } from '../../platform/database/quotas/take-quota.ts';
import type { Market } from '../context.ts';
import { limitFor, type NetworkLimit } from './network-limits.ts';

const HOUR_SECONDS = 3_600;

/** Counts this call of that client network, and refuses it beyond the limit, which may be the network's own. */
export async function takeNetworkQuota(
  market: Pick<Market, 'config' | 'database' | 'clock'>,
  name: NetworkLimit,
  clientNetwork: string,
): Promise<void> {
  const { limits, networkLimits } = market.config;
  const limit = limitFor(networkLimits, name, clientNetwork, limits);
  await takeQuota(market, { name, subject: clientNetwork, limit, windowSeconds: HOUR_SECONDS });
}
