import type { Limits } from '../../contract/vocabulary.ts';
import type { Quota } from '../../platform/database/quota.ts';
import type { Market } from '../context.ts';

const DAY_SECONDS = 86_400;

/** What a merchant may do so often a day, each under its name in OPENAISLE_LIMITS. Comments and flags are counted together. */
export type DailyQuota = Extract<keyof Limits, `${'guard_runs' | 'votes' | 'voices'}_per_merchant_day`>;

export function dailyQuota({ config }: Pick<Market, 'config'>, name: DailyQuota, merchantId: bigint): Quota {
  return { name, subject: merchantId.toString(), limit: config.limits[name], windowSeconds: DAY_SECONDS };
}
