import type { Limits } from '../../contract/vocabulary.ts';
import { type Quota, type ScalarQuery, takeClientQuota, takeQuotaUnless } from '../../platform/database/quota.ts';
import type { Market, Merchant } from '../context.ts';
import { limitFor, type NetworkLimit } from './network-limits.ts';

const HOUR_SECONDS = 3_600;

/** Counts a call of the client network and its site. Refuses beyond the limit, which may be set for this network alone. */
export async function takeNetworkQuota(
  market: Pick<Market, 'config' | 'database' | 'clock'>,
  name: NetworkLimit,
  clientNetwork: string,
): Promise<void> {
  const { limits, clientNetworkLimits } = market.config;
  const limit = limitFor(clientNetworkLimits, name, clientNetwork, limits);
  const networksPerSite = limits.networks_per_site;
  await takeClientQuota(market, { name, clientNetwork, limit, networksPerSite, windowSeconds: HOUR_SECONDS });
}

/** Counts a new intent of the merchant and its network. Counts nothing if `usable` finds an intent to reuse. */
export async function takeIntentQuota(
  market: Market,
  { merchant, clientNetwork }: { merchant: Merchant; clientNetwork: string },
  usable: ScalarQuery,
): Promise<void> {
  const name = 'intents_per_merchant_hour';
  const limit = market.config.limits[name];
  const quota = { name, subject: merchant.id.toString(), limit, windowSeconds: HOUR_SECONDS };
  if ((await takeQuotaUnless(market, quota, usable)) !== null) return;
  await takeNetworkQuota(market, 'intents_per_ip_hour', clientNetwork);
}

const DAY_SECONDS = 86_400;

/** Daily quotas of a merchant, as named in OPENAISLE_LIMITS. `voices` counts comments and flags together. */
export type DailyQuota = Extract<keyof Limits, `${'guard_runs' | 'votes' | 'voices'}_per_merchant_day`>;

export function dailyQuota({ config }: Pick<Market, 'config'>, name: DailyQuota, merchantId: bigint): Quota {
  return { name, subject: merchantId.toString(), limit: config.limits[name], windowSeconds: DAY_SECONDS };
}
