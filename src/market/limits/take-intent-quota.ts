import { type ScalarQuery, takeQuotaUnless } from '../../platform/database/quota.ts';
import type { Market, Merchant } from '../context.ts';
import { takeNetworkQuota } from './take-network-quota.ts';

const HOUR_SECONDS = 3_600;

/** Counts a new intent of that merchant and of the network it comes from. Where `usable` finds one, none is made and nothing counted. */
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
