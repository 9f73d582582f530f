import type { Limits } from '../../src/contract/vocabulary.ts';

/** What a stranger may cost, far above what any test needs whose calls all come from one address. */
export const WIDE_BUDGETS = {
  ...{ networks_per_site: 1_000, intents_per_merchant_hour: 1_000_000, intents_per_ip_hour: 1_000_000 },
  ...{ attempts_per_ip_hour: 1_000_000, attempts_per_merchant_hour: 1_000_000, attempts_per_hour: 10_000_000 },
  ...{ chain_reads_per_ip_minute: 1_000_000, chain_reads_per_merchant_minute: 1_000_000 },
  ...{ chain_reads_per_wallet_minute: 1_000_000, chain_reads_per_minute: 10_000_000 },
  ...{ read_ms_per_ip_minute: 1_000_000, read_ms_per_minute: 10_000_000 },
  ...{ store_megabytes_per_ip_hour: 1_000_000, store_megabytes_per_hour: 10_000_000 },
} satisfies Partial<Limits>;

/** OPENAISLE_LIMITS for tests whose calls all come from one address. */
export const WIDE_LIMITS = JSON.stringify({
  ...WIDE_BUDGETS,
  registration_per_ip_hour: 1_000,
  confirm_per_ip_hour: 1_000,
  rotation_starts_per_ip_hour: 1_000,
  rotation_per_merchant_day: 1_000,
  recovery_starts_per_ip_hour: 1_000,
});
