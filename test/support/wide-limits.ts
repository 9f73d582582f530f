/** OPENAISLE_LIMITS for tests whose calls all come from one address. */
export const WIDE_LIMITS = JSON.stringify({
  registration_per_ip_hour: 1_000,
  confirm_per_ip_hour: 1_000,
  rotation_starts_per_ip_hour: 1_000,
  rotation_per_merchant_day: 1_000,
  recovery_starts_per_ip_hour: 1_000,
});
