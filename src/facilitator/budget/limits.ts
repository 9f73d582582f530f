/** What strangers may cost, and what waits for whom. Some can be changed by FACILITATOR_LIMITS. */
export const DEFAULT_LIMITS = {
  /** Gas of reverts, and of sales below 20 times their gas, in millionths of a USDC: for all together. */
  gas_loss_hour_units: 2_000_000,
  gas_loss_day_units: 20_000_000,
  /** After a revert, doubled by each that follows. */
  rest_seconds: 120,
  rest_most_seconds: 21_600,
  /** Of a payer whose last settlement went through. */
  in_flight_per_payer: 32,
  /** Of all payers together: what stands behind a stuck transaction, and what a node keeps of one account. */
  in_flight: 128,
  /** Settlements that wait for one of the same payer to be mined, and of all payers for one of those in flight. */
  waiting_per_payer: 32,
  waiting: 2_000,
} as const;
export type Limits = { readonly [K in keyof typeof DEFAULT_LIMITS]: number };

export const LIMIT_NAMES = Object.keys(DEFAULT_LIMITS);
