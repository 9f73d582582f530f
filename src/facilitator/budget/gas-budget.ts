import type { Clock } from '../../platform/clock.ts';
import type { Hex } from '../../platform/hex.ts';
import { type Cooldown, type Entry, type Loss, lossOf, newestOf, type Pool } from '../journal/entry.ts';

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
/** `leastPrice` rises once seven eighths of the budget are used. The last eighth is room for cheap sales that began before the rise. */
const KEPT_FOR_OPENED = 8n;
/** Time to wait while only the reserves of settlements in flight exceed the budget. These settlements end within a few blocks. */
const IN_FLIGHT_SECONDS = 10;
const WINDOWS = [
  { name: 'hour', ms: HOUR_MS, limit: 'gas_loss_hour_units' },
  { name: 'day', ms: DAY_MS, limit: 'gas_loss_day_units' },
] as const;

/**
 * Shares of the budget in eighths. Unknown payers get three quarters, split between contract and plain wallets. Payments to known payees
 * get one eighth more. The last eighth is only for known payers, who may also use whatever the others left.
 */
const EIGHTHS: Readonly<Record<Pool, bigint>> = { contract: 2n, plain: 4n, payee: 1n, known: 8n };

export interface GasRequest {
  hasCode: boolean;
  /** True if the payer has sales that are final and paid for their gas. `payeeKnown` is the same for the payee. */
  payerKnown: boolean;
  payeeKnown: boolean;
  /** True if the sale is not expected to pay for its gas. */
  isCheap: boolean;
  units: bigint;
}

/** Loss reserved for a settlement that has not ended. */
export type Reserved = Readonly<Pick<Entry, 'pool' | 'reservedUnits'> & Pick<GasRequest, 'isCheap'>>;

export type Grant = { pool: Pool } | { retryAfterSeconds: number };

export interface PoolLevel {
  /**
   * `sales`: gas of cheap sales, mined or in flight, without reverts. `all`: gas of reverts and the reserves of all settlements in flight.
   */
  pool: Pool | 'all' | 'sales';
  window: 'hour' | 'day';
  used: bigint;
  limit: bigint;
}

/**
 * Caps the gas lost to reverts, for each kind of payer and in total. A cheap sale that succeeded does not count against these pools, so it
 * locks nobody out. Cheap sales have their own cap: once they and reverts have used up the whole budget, no further one starts. The minimum
 * price for x402 rises before that.
 */
export interface GasBudget {
  findPool(request: GasRequest): Grant;
  /** Returns the least price of a sale with this gas cost. Both are in millionths of a USDC. */
  leastPrice(gasUnits: bigint): bigint;
  addLoss(loss: Loss): void;
  levels(): PoolLevel[];
}

/**
 * `losses` were recorded before the start, so that a restart does not refill the budget. `inFlight` returns the reserves of settlements
 * that have not ended.
 */
export function createGasBudget(options: {
  limits: Limits;
  clock: Clock;
  losses: readonly Loss[];
  inFlight(): Iterable<Reserved>;
}): GasBudget {
  const { limits, clock, inFlight } = options;
  const sortedLosses = [...options.losses].sort((a, b) => a.at - b.at);
  const lossLogOf = (isSale: boolean): LossLog =>
    createLossLog(
      sortedLosses.filter((loss) => loss.isSale === isSale),
      clock,
    );
  const [sales, reverts] = [lossLogOf(true), lossLogOf(false)];
  const share = createShares(limits);
  const { usedByCheap, boundOf, boundOfCheap } = createBounds(sales, reverts);

  const secondsUntilRoom = createWait(share, clock);

  return {
    findPool: ({ hasCode, payerKnown, payeeKnown, isCheap, units }) => {
      const ownPool: Pool = hasCode ? 'contract' : 'plain';
      const pools: Pool[] = payerKnown ? ['known'] : payeeKnown ? [ownPool, 'payee'] : [ownPool];
      const reserved = sumOf(inFlight());
      const cheapWait = isCheap ? secondsUntilRoom(units, boundOfCheap(reserved)) : 0;
      const totalWait = Math.max(secondsUntilRoom(units, boundOf('all', reserved)), cheapWait);
      const waits = pools.map((pool) => ({
        pool,
        seconds: Math.max(secondsUntilRoom(units, boundOf(pool, reserved)), totalWait),
      }));
      const open = waits.find(({ seconds }) => seconds === 0);
      if (open !== undefined) return { pool: open.pool };
      return { retryAfterSeconds: Math.min(...waits.map(({ seconds }) => seconds)) };
    },
    leastPrice: (gasUnits) => {
      const now = clock.now();
      // Count only the cheap sales in flight, because most others will be mined and pay for their gas.
      const { cheap } = sumOf(inFlight());
      const hasRoom = WINDOWS.every((window) => {
        const kept = share('all', window) / KEPT_FOR_OPENED;
        return cheap + usedByCheap(now - window.ms) + gasUnits <= share('all', window) - kept;
      });
      return hasRoom ? gasUnits : PAYS_FOR_GAS_TIMES * gasUnits;
    },
    addLoss: (loss) => {
      if (loss.units > 0n) (loss.isSale ? sales : reverts).add(loss);
    },
    levels: () => {
      const reserved = sumOf(inFlight());
      return WINDOWS.flatMap((window) => {
        const since = clock.now() - window.ms;
        const levels: PoolLevel[] = (['all', 'contract', 'plain', 'payee', 'known'] as const).map((pool) => {
          const used = reserved[pool] + reverts.used(pool, since);
          return { pool, window: window.name, used, limit: share(pool, window) };
        });
        const used = reserved.cheap + sales.used('all', since);
        return [...levels, { pool: 'sales', window: window.name, used, limit: share('all', window) }];
      });
    },
  };
}

type Window = (typeof WINDOWS)[number];

/** Losses and reserves whose sum may not exceed the share of a pool. */
interface Bound {
  pool: Pool | 'all';
  /** Units reserved by settlements in flight. */
  reserved: bigint;
  used(sinceMs: number): bigint;
  /** Losses that count, oldest first. */
  losses(): readonly Loss[];
}

function createShares(limits: Limits): (pool: Pool | 'all', window: Window) => bigint {
  return (pool, window) => {
    const whole = BigInt(limits[window.limit]);
    return pool === 'all' ? whole : (whole * EIGHTHS[pool]) / 8n;
  };
}

interface LossLog {
  add(loss: Loss): void;
  /** Losses of the last day, oldest first. */
  all(): readonly Loss[];
  used(pool: Pool | 'all', sinceMs: number): bigint;
}

/** Returns a function that computes the seconds until there is room for some units. 0 if there is room now. */
function createWait(share: ReturnType<typeof createShares>, clock: Clock): (units: bigint, bound: Bound) => number {
  return (units, bound) => {
    const now = clock.now();
    const waits = WINDOWS.map((window) => {
      const whole = share(bound.pool, window);
      let excess = bound.reserved + bound.used(now - window.ms) + units - whole;
      if (excess <= 0n) return 0;
      for (const one of bound.losses()) {
        if (one.at <= now - window.ms) continue;
        excess -= one.units;
        if (excess <= 0n) return Math.max(1, Math.ceil((one.at + window.ms - now) / 1000));
      }
      return units > whole ? Math.ceil(window.ms / 1000) : IN_FLIGHT_SECONDS;
    });
    return Math.max(...waits);
  };
}

function createLossLog(before: readonly Loss[], clock: Clock): LossLog {
  let losses = [...before];
  const all = (): readonly Loss[] => {
    losses = losses.filter(({ at }) => at + DAY_MS > clock.now());
    return losses;
  };
  return {
    add: (loss) => void losses.push(loss),
    all,
    used: (pool, sinceMs) =>
      all().reduce((sum, one) => {
        return one.at > sinceMs && (pool === 'all' || one.pool === pool) ? sum + one.units : sum;
      }, 0n),
  };
}

/** Units reserved per pool. `cheap` sums the cheap sales of all pools. */
type ReservedUnits = Record<Pool | 'all' | 'cheap', bigint>;

function createBounds(sales: LossLog, reverts: LossLog) {
  const usedByCheap = (sinceMs: number): bigint => reverts.used('all', sinceMs) + sales.used('all', sinceMs);
  return {
    usedByCheap,
    boundOf: (pool: Pool | 'all', reserved: ReservedUnits): Bound => ({
      pool,
      reserved: reserved[pool],
      used: (sinceMs) => reverts.used(pool, sinceMs),
      losses: () => reverts.all().filter((one) => pool === 'all' || one.pool === pool),
    }),
    boundOfCheap: (reserved: ReservedUnits): Bound => ({
      pool: 'all',
      reserved: reserved.cheap,
      used: usedByCheap,
      losses: () => [...reverts.all(), ...sales.all()].sort((a, b) => a.at - b.at),
    }),
  };
}

function sumOf(inFlight: Iterable<Reserved>): ReservedUnits {
  const sums: ReservedUnits = { all: 0n, cheap: 0n, contract: 0n, plain: 0n, payee: 0n, known: 0n };
  for (const { pool, reservedUnits, isCheap } of inFlight) {
    sums.all += reservedUnits;
    sums[pool] += reservedUnits;
    if (isCheap) sums.cheap += reservedUnits;
  }
  return sums;
}

/** Returns the reserved loss of an entry in flight. Whether the sale is cheap depends on its estimated gas, not on the reserve. */
export function reservedOf(entry: Readonly<Entry>): Reserved {
  const { pool, reservedUnits, estimatedGas, authorization } = entry;
  const [first = newestOf(entry)] = entry.transactions;
  const expectedUnits = first.gas > 0n ? (reservedUnits * estimatedGas) / first.gas : reservedUnits;
  return { pool, reservedUnits, isCheap: !paysForGas(authorization.value, expectedUnits) };
}

export function lossesOf(entries: Iterable<Readonly<Entry>>): Loss[] {
  return [...entries].map(lossOf).filter((loss) => loss !== null);
}

/** Default value of one ether in USDC. A high estimate makes gas count for more than it costs. */
export const ETHER_USDC = 5_000;

const WEI_PER_ETHER = 10n ** 18n;
/** A sale that pays less than this many times its gas is cheap: its gas counts against the budget, and it makes no wallet known. */
const PAYS_FOR_GAS_TIMES = 20n;

/** Converts wei to millionths of a USDC, rounded up. `etherUnits` is the value of one ether in the same units. */
export function unitsOfWei(wei: bigint, etherUnits: bigint): bigint {
  return (wei * etherUnits + WEI_PER_ETHER - 1n) / WEI_PER_ETHER;
}

export function paysForGas(valueUnits: bigint, costUnits: bigint): boolean {
  return valueUnits >= PAYS_FOR_GAS_TIMES * costUnits;
}

const FORGIVE_AFTER_MS = 24 * 60 * 60 * 1000;

/**
 * Returns the cooldown after a revert: twice as long as the previous one, up to a maximum. A previous one no longer counts a day after it
 * ended.
 */
export function nextCooldown(payer: Hex, before: Cooldown | undefined, now: number, limits: Limits): Cooldown {
  const strikes = before !== undefined && before.until + FORGIVE_AFTER_MS > now ? before.strikes + 1 : 1;
  const seconds = Math.min(limits.rest_seconds * 2 ** Math.min(strikes - 1, 30), limits.rest_most_seconds);
  return { payer, until: now + seconds * 1000, strikes };
}

/** Returns the remaining cooldown. 0 if there is none. */
export function cooldownSeconds(cooldown: Cooldown | undefined, now: number): number {
  return cooldown === undefined || cooldown.until <= now ? 0 : Math.ceil((cooldown.until - now) / 1000);
}

/** Limits on lost gas, cooldowns and queues. FACILITATOR_LIMITS can override each of them. */
export const DEFAULT_LIMITS = {
  /** Gas of reverts and of cheap sales by all payers, in millionths of a USDC. */
  gas_loss_hour_units: 2_000_000,
  gas_loss_day_units: 20_000_000,
  /** Cooldown after a revert. Doubles with each further revert. */
  rest_seconds: 120,
  rest_most_seconds: 21_600,
  /**
   * Applies once a settlement of the payer has succeeded. Before that, and after a revert that the payer may have caused, only one is
   * admitted at a time.
   */
  in_flight_per_payer: 32,
  /**
   * Total for all payers. A stuck transaction blocks those behind it, and a node keeps only a limited number of transactions of one
   * account.
   */
  in_flight: 128,
  /**
   * Settlements that wait until another one of the same payer is mined. `waiting` caps these for all payers together and, separately, the
   * settlements that wait because `in_flight` is reached.
   */
  waiting_per_payer: 32,
  waiting: 2_000,
} as const;
export type Limits = { readonly [K in keyof typeof DEFAULT_LIMITS]: number };

export const LIMIT_NAMES = Object.keys(DEFAULT_LIMITS);
