import type { Clock } from '../../platform/clock.ts';
import type { Hex } from '../../platform/hex.ts';
import { type Cooldown, type Entry, type Loss, lossOf, newestOf, type Pool } from '../journal/entry.ts';

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
/** The part of the whole, an eighth, that no price is quoted on: it is for cheap sales that were opened while the least price was low. */
const KEPT_FOR_OPENED = 8n;
/** What is in flight ends within a few blocks. */
const IN_FLIGHT_SECONDS = 10;
const WINDOWS = [
  { name: 'hour', ms: HOUR_MS, limit: 'gas_loss_hour_units' },
  { name: 'day', ms: DAY_MS, limit: 'gas_loss_day_units' },
] as const;

/**
 * Shares of the whole, in eighths. A quarter is kept: one eighth for payments to known payees, and another that only known payers reach,
 * who may use whatever the others have not used.
 */
const EIGHTHS: Readonly<Record<Pool, bigint>> = { contract: 2n, plain: 4n, payee: 1n, known: 8n };

export interface Asking {
  hasCode: boolean;
  /** Whether payer and payee have sales that are final and paid for their gas. */
  payerKnown: boolean;
  payeeKnown: boolean;
  /** A sale that is not expected to pay for its gas. */
  isCheap: boolean;
  /** What may be lost at most. */
  units: bigint;
}

/** What a settlement may lose while its end is not known. */
export type Reserved = Readonly<Pick<Entry, 'pool' | 'reservedUnits'> & Pick<Asking, 'isCheap'>>;

export type Grant = { pool: Pool } | { retryAfterSeconds: number };

export interface PoolLevel {
  /** `sales`: gas of cheap sales, also of those in flight, on top of what all pools lost. */
  pool: Pool | 'all' | 'sales';
  window: 'hour' | 'day';
  used: bigint;
  limit: bigint;
}

/**
 * How much gas may be lost by reverts, for each kind of payer and for all. Sales that are cheap for their gas take nothing from these
 * pools, so that they shut nobody out, and have a bound of their own: while such sales and reverts together have used up the whole, no
 * further cheap one is begun. The price from which x402 is offered rises before that.
 */
export interface GasBudget {
  /** The pool that a settlement may draw on now. */
  find(asking: Asking): Grant;
  /** The least price, in units of USDC, of a sale whose gas costs that much. */
  leastPrice(gasUnits: bigint): bigint;
  note(loss: Loss): void;
  levels(): PoolLevel[];
}

/** `losses` are those of before the start, so that a restart refills nothing; `inFlight` are settlements whose end is not known. */
export function createGasBudget(given: {
  limits: Limits;
  clock: Clock;
  losses: readonly Loss[];
  inFlight(): Iterable<Reserved>;
}): GasBudget {
  const { limits, clock, inFlight } = given;
  const inOrder = [...given.losses].sort((a, b) => a.at - b.at);
  const tallyOf = (isSale: boolean): Tally =>
    createTally(
      inOrder.filter((loss) => loss.isSale === isSale),
      clock,
    );
  const [sales, reverts] = [tallyOf(true), tallyOf(false)];
  const share = createShares(limits);
  const { usedByCheap, boundOf, boundOfCheap } = createBounds(sales, reverts);

  const secondsUntilRoom = createWait(share, clock);

  return {
    find: ({ hasCode, payerKnown, payeeKnown, isCheap, units }) => {
      const own: Pool = hasCode ? 'contract' : 'plain';
      const pools: Pool[] = payerKnown ? ['known'] : payeeKnown ? [own, 'payee'] : [own];
      const reserved = sumOf(inFlight());
      const ofCheap = isCheap ? secondsUntilRoom(units, boundOfCheap(reserved)) : 0;
      const ofAll = Math.max(secondsUntilRoom(units, boundOf('all', reserved)), ofCheap);
      const waits = pools.map((pool) => ({
        pool,
        seconds: Math.max(secondsUntilRoom(units, boundOf(pool, reserved)), ofAll),
      }));
      const open = waits.find(({ seconds }) => seconds === 0);
      if (open !== undefined) return { pool: open.pool };
      return { retryAfterSeconds: Math.min(...waits.map(({ seconds }) => seconds)) };
    },
    leastPrice: (gasUnits) => {
      const now = clock.now();
      // Other sales in flight are left out: most of them are mined, and pay for their gas.
      const { cheap } = sumOf(inFlight());
      const hasRoom = WINDOWS.every((window) => {
        const kept = share('all', window) / KEPT_FOR_OPENED;
        return cheap + usedByCheap(now - window.ms) + gasUnits <= share('all', window) - kept;
      });
      return hasRoom ? gasUnits : PAYS_FOR_GAS_TIMES * gasUnits;
    },
    note: (loss) => {
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

/** Something that has to stay below the share of a pool. */
interface Bound {
  pool: Pool | 'all';
  /** In flight. */
  reserved: bigint;
  used(sinceMs: number): bigint;
  /** Oldest first. */
  losses(): readonly Loss[];
}

/** How much of a window's loss is for a pool. */
function createShares(limits: Limits): (pool: Pool | 'all', window: Window) => bigint {
  return (pool, window) => {
    const whole = BigInt(limits[window.limit]);
    return pool === 'all' ? whole : (whole * EIGHTHS[pool]) / 8n;
  };
}

interface Tally {
  add(loss: Loss): void;
  /** Those of the last day, oldest first. */
  all(): readonly Loss[];
  used(pool: Pool | 'all', sinceMs: number): bigint;
}

/** 0 where there is room for so many units; else the seconds until there will be. */
function createWait(share: ReturnType<typeof createShares>, clock: Clock): (units: bigint, bound: Bound) => number {
  return (units, bound) => {
    const now = clock.now();
    const waits = WINDOWS.map((window) => {
      const whole = share(bound.pool, window);
      let over = bound.reserved + bound.used(now - window.ms) + units - whole;
      if (over <= 0n) return 0;
      for (const one of bound.losses()) {
        if (one.at <= now - window.ms) continue;
        over -= one.units;
        if (over <= 0n) return Math.max(1, Math.ceil((one.at + window.ms - now) / 1000));
      }
      return units > whole ? Math.ceil(window.ms / 1000) : IN_FLIGHT_SECONDS;
    });
    return Math.max(...waits);
  };
}

/** Losses of gas, by time and pool. */
function createTally(before: readonly Loss[], clock: Clock): Tally {
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

/** `cheap`: of cheap sales, whatever their pools. */
type ReservedUnits = Record<Pool | 'all' | 'cheap', bigint>;

function createBounds(sales: Tally, reverts: Tally) {
  /** Gas of cheap sales and of all reverts. */
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

/** The gas that an entry in flight may lose. It reserved more gas than its rehearsal used, by which it is expected to pay or not. */
export function reservedOf(entry: Readonly<Entry>): Reserved {
  const { pool, reservedUnits, estimatedGas, authorization } = entry;
  const [first = newestOf(entry)] = entry.transactions;
  const expectedUnits = first.gas > 0n ? (reservedUnits * estimatedGas) / first.gas : reservedUnits;
  return { pool, reservedUnits, isCheap: !paysForGas(authorization.value, expectedUnits) };
}

/** Losses of entries that are still kept. */
export function lossesOf(entries: Iterable<Readonly<Entry>>): Loss[] {
  return [...entries].map(lossOf).filter((loss) => loss !== null);
}

/** What one ether is taken to be worth, in USDC, unless the operator says otherwise. Rather too much: gas then counts for more than it costs. */
export const ETHER_USDC = 5_000;

const WEI_PER_ETHER = 10n ** 18n;
/** A sale that paid less than this many times its gas is cheap: its gas is counted, and makes no wallet known. */
const PAYS_FOR_GAS_TIMES = 20n;

/** In millionths of a USDC, rounded up. `etherUnits` is what one ether is worth. */
export function unitsOfWei(wei: bigint, etherUnits: bigint): bigint {
  return (wei * etherUnits + WEI_PER_ETHER - 1n) / WEI_PER_ETHER;
}

export function paysForGas(valueUnits: bigint, costUnits: bigint): boolean {
  return valueUnits >= PAYS_FOR_GAS_TIMES * costUnits;
}

const FORGIVEN_MS = 24 * 60 * 60 * 1000;

/** The rest that follows a revert: twice as long as the one before, which is forgotten a day after its end. */
export function nextCooldown(payer: Hex, before: Cooldown | undefined, now: number, limits: Limits): Cooldown {
  const strikes = before !== undefined && before.until + FORGIVEN_MS > now ? before.strikes + 1 : 1;
  const seconds = Math.min(limits.rest_seconds * 2 ** Math.min(strikes - 1, 30), limits.rest_most_seconds);
  return { payer, until: now + seconds * 1000, strikes };
}

/** 0 for a payer that does not rest. */
export function cooldownSeconds(cooldown: Cooldown | undefined, now: number): number {
  return cooldown === undefined || cooldown.until <= now ? 0 : Math.ceil((cooldown.until - now) / 1000);
}

/** What strangers may cost, and what waits for whom. Some can be changed by FACILITATOR_LIMITS. */
export const DEFAULT_LIMITS = {
  /** Gas of reverts for all together, and of these and sales below 20 times their gas: in millionths of a USDC. */
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
