import type { Market } from '../context.ts';
import { takeQuota } from './take-quota.ts';

const HOUR_SECONDS = 3_600;

/** The limits that count a client's network by the hour. */
export type NetworkLimit =
  | 'registration_per_ip_hour'
  | 'confirm_per_ip_hour'
  | 'rotation_starts_per_ip_hour'
  | 'recovery_starts_per_ip_hour';

/** Counts this call of that network, and refuses it beyond the limit. */
export async function takeNetworkQuota(
  market: Pick<Market, 'config' | 'database' | 'clock'>,
  name: NetworkLimit,
  clientNetwork: string,
): Promise<void> {
  const limit = market.config.limits[name];
  await takeQuota(market, { name, subject: clientNetwork, limit, windowSeconds: HOUR_SECONDS });
}
