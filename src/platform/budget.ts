import {
  judgeShare,
  limitExceeded,
  needsNewcomerPart,
  type Share,
  type ShareUse,
  SLOTS,
  slotMs,
} from './budget-share.ts';
import type { Clock } from './clock.ts';
import { type NetworkLevels, networkLevels } from './http/client-network.ts';
import { type Random, randomFraction } from './random.ts';
import type { RefusalOptions } from './refusal.ts';

/** One of the named limits that an operator can set. */
export interface NamedLimit {
  name: string;
  limit: number;
}

/** A client network, or an authenticated account with a budget of its own. */
export type Client = { network: string } | { account: string };

export interface BudgetOptions {
  clock: Clock;
  random: Random;
  windowSeconds: number;
  perNetwork: NamedLimit;
  /** Returns the limit of one network. Omitted: every network gets `perNetwork`. */
  limitOf?(network: string): number;
  /** Limit of a site, as a multiple of the limit of one of its networks. */
  networksPerSite: number;
  perAccount?: NamedLimit;
  /** Limit for all networks together, and a second one of the same size for all accounts. Omitted: no shared limit. */
  forAll?: NamedLimit;
  rows?: number;
}

export interface Reservation {
  /** Call once, with the units actually spent. Refunds the difference, or charges what exceeds the reservation. */
  adjustTo(units: number): void;
}

export interface Budget {
  /** Reserves units. Throws if that would exceed a limit. `extra` is passed to the refusal. */
  take(client: Client, units: number, extra?: RefusalOptions): Reservation;
  /** Like `take`, but ignores the limit for all clients. */
  takeOwn(client: Client, units: number): Reservation;
  /** Counts units that were spent already, because the amount could not be known in advance. */
  charge(client: Client, units: number): void;
  /** Whether the network or its site has no units left. */
  isSpent(network: string): boolean;
  /** False while no `charge` has used up the limit of a client or of its site. Much cheaper than `isSpent`. */
  mayBeSpent(): boolean;
  rows(): number;
}

/** The table, row and limit that apply to one client. */
interface Counting {
  counts: WindowCounts;
  who: Counted;
  own: NamedLimit;
}

const ROWS = 10_000;
/** Divisor: a network that has used less than a tenth of its own limit is a newcomer. */
const NEWCOMER_PART = 10;

/** Creates a budget in fixed windows, counted by this process alone. Strangers cannot make its memory grow without limit. */
export function createBudget(options: BudgetOptions): Budget {
  const { clock, random, windowSeconds, networksPerSite, forAll } = options;
  const windowMs = windowSeconds * 1_000;
  const rows = options.rows ?? ROWS;
  // Accounts have separate tables, so that strangers cannot use up their budget.
  const tables = { network: createWindowCounts(windowMs, rows), account: createWindowCounts(windowMs, rows) };
  /** Start of the window in which a `charge` used up the limit of a client or of its site. NaN: none did. */
  let spentWindow = Number.NaN;

  const refuse = ({ name, limit }: NamedLimit, retryAfterMs: number, extra: RefusalOptions = {}): never => {
    throw limitExceeded({ name, limit, windowSeconds, retryAfterMs }, extra);
  };
  const checkOwn = (
    { counts, who, own }: Counting,
    { units, elapsedMs }: { units: number; elapsedMs: number },
    extra?: RefusalOptions,
  ): void => {
    const leftMs = windowMs - elapsedMs;
    if (counts.of('network', who) + units > own.limit) refuse(own, leftMs, extra);
    if (who.site === who.network) return;
    const ofSite = { ...own, limit: own.limit * networksPerSite };
    if (counts.of('site', who) + units > ofSite.limit) refuse(ofSite, leftMs, extra);
  };
  const countingOf = (client: Client): Counting & { elapsedMs: number } => {
    const counts = 'account' in client ? tables.account : tables.network;
    return { counts, who: countedAs(client), own: ownLimit(options, client), elapsedMs: counts.roll(clock.now()) };
  };
  const take = (client: Client, amount: number, all: NamedLimit | undefined, extra?: RefusalOptions): Reservation => {
    const counting = countingOf(client);
    const { counts, who, own, elapsedMs } = counting;
    // Even if the limit is below the cost of one request, let one request through.
    const units = Math.min(amount, Math.max(1, own.limit));
    checkOwn(counting, { units, elapsedMs }, extra);
    const part = all === undefined ? null : takePart(counting, all, { units, elapsedMs }, extra);
    counts.use(who, part, units);
    return { adjustTo: createAdjust(counting, part, units, () => clock.now()) };
  };
  const takePart = (
    { counts, who, own }: Counting,
    all: NamedLimit,
    request: { units: number; elapsedMs: number },
    extra?: RefusalOptions,
  ): 'open' | 'kept' => {
    const newcomerUnits = Math.max(request.units, Math.floor(own.limit / NEWCOMER_PART));
    const share: Share = { limit: all.limit, windowMs, newcomerUnits };
    if (needsNewcomerPart(share, counts.shareUse(who), request)) counts.noteAsk(who);
    const verdict = judgeShare(share, counts.shareUse(who), request, () => randomFraction(random));
    return verdict.part ?? refuse(all, verdict.retryAfterMs, extra);
  };

  return {
    take: (client, units, extra) => take(client, units, forAll, extra),
    takeOwn: (client, units) => take(client, units, undefined),
    charge: (client, units) => {
      const counting = countingOf(client);
      const { counts, who } = counting;
      counts.use(who, forAll === undefined ? null : 'open', units);
      if (hasSpent(counting, networksPerSite)) spentWindow = counts.start();
    },
    isSpent: (network) => {
      const counting = countingOf({ network });
      if (spentWindow !== counting.counts.start()) spentWindow = Number.NaN;
      return hasSpent(counting, networksPerSite);
    },
    mayBeSpent: () => !Number.isNaN(spentWindow),
    rows: () => Math.max(tables.network.rows(), tables.account.rows()),
  };
}

function createAdjust(
  { counts, who }: Counting,
  part: 'open' | 'kept' | null,
  units: number,
  now: () => number,
): Reservation['adjustTo'] {
  const begun = counts.start();
  return (spent) => {
    counts.roll(now());
    const more = spent - units;
    // Units reserved in an earlier window are not refunded to the current one.
    if (more > 0 || (more < 0 && counts.start() === begun)) counts.use(who, part, more);
  };
}

function hasSpent({ counts, who, own: { limit } }: Counting, networksPerSite: number): boolean {
  return counts.of('network', who) >= limit || counts.of('site', who) >= limit * networksPerSite;
}

function countedAs(client: Client): Counted {
  if ('network' in client) return { network: client.network, ...networkLevels(client.network) };
  const name = `account ${client.account}`;
  return { network: name, site: name, supernet: name };
}

function ownLimit({ perNetwork, perAccount, limitOf }: BudgetOptions, client: Client): NamedLimit {
  if ('account' in client) return perAccount ?? perNetwork;
  return limitOf === undefined ? perNetwork : { ...perNetwork, limit: limitOf(client.network) };
}

/** A client's network or account name, with the wider networks around it. */
interface Counted extends NetworkLevels {
  network: string;
}

const LEVELS = ['network', 'site', 'siteKept', 'supernetKept'] as const;
type Level = (typeof LEVELS)[number];
/** Supernets without a row of their own share this row once a table is full. */
const ELSEWHERE = 'elsewhere';

/**
 * Counts usage in the current window. Strangers cannot grow a table: once it is full, a new network is counted only with its site, a new
 * site only with its supernet, and new supernets share one row.
 */
function createWindowCounts(windowMs: number, maxRows: number) {
  const slot = slotMs({ windowMs });
  let start = Number.NaN;
  let slotAt = -1;
  let parts = { open: 0, kept: 0 };
  let used = createTables();
  let asks = new Map<string, number>();
  let asksBefore = new Map<string, number>();

  const add = (table: Map<string, number>, key: string, units: number): void => {
    const row = table.get(key);
    if (row !== undefined || table.size < maxRows) table.set(key, Math.max(0, (row ?? 0) + units));
  };
  /** Returns the row of a supernet: its own, or the shared one. */
  const rowOf = (table: Map<string, number>, supernet: string): string =>
    table.has(supernet) || table.size < maxRows - 1 ? supernet : ELSEWHERE;

  return {
    /** Call before any other method. Starts a new window when due, and returns the milliseconds since the window began. */
    roll(now: number): number {
      const begun = Math.floor(now / windowMs) * windowMs;
      if (begun !== start) {
        start = begun;
        slotAt = -1;
        parts = { open: 0, kept: 0 };
        used = createTables();
        asks = new Map();
      }
      const at = Math.min(SLOTS - 1, Math.floor((now - begun) / slot));
      if (at !== slotAt) {
        asksBefore = at === slotAt + 1 ? asks : new Map();
        asks = new Map();
        slotAt = at;
      }
      return now - begun;
    },
    start: () => start,
    of: (level: 'network' | 'site', { network, site }: Counted): number =>
      used[level].get(level === 'network' ? network : site) ?? 0,
    shareUse({ network, site, supernet }: Counted): ShareUse {
      return {
        ...parts,
        network: used.network.get(network) ?? 0,
        siteKept: used.siteKept.get(site) ?? 0,
        supernetKept: used.supernetKept.get(rowOf(used.supernetKept, supernet)) ?? 0,
        supernetsAsking: Math.max(asks.size, asksBefore.size),
        asksOfSupernet: Math.max(asks.get(rowOf(asks, supernet)) ?? 0, asksBefore.get(supernet) ?? 0),
      };
    },
    noteAsk: ({ supernet }: Counted): void => add(asks, rowOf(asks, supernet), 1),
    /** Negative units are refunded. If `part` is null, counts for the network and its site only. */
    use({ network, site, supernet }: Counted, part: 'open' | 'kept' | null, units: number): void {
      add(used.network, network, units);
      add(used.site, site, units);
      if (part === null) return;
      parts[part] = Math.max(0, parts[part] + units);
      if (part === 'open') return;
      add(used.siteKept, site, units);
      add(used.supernetKept, rowOf(used.supernetKept, supernet), units);
    },
    rows: (): number => Math.max(asks.size, ...LEVELS.map((level) => used[level].size)),
  };
}

function createTables(): Record<Level, Map<string, number>> {
  return { network: new Map(), site: new Map(), siteKept: new Map(), supernetKept: new Map() };
}

type WindowCounts = ReturnType<typeof createWindowCounts>;
