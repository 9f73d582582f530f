import { judgeShare, limitExceeded, needsKept, type Share, type ShareUse, SLOTS, slotMs } from './budget-share.ts';
import type { Clock } from './clock.ts';
import { type NetworkLevels, networkLevels } from './http/client-network.ts';
import { drawOf, type Random } from './random.ts';
import type { RefusalOptions } from './refusal.ts';

/** A name from the named limits. */
export interface NamedLimit {
  name: string;
  limit: number;
}

/** A client network, or an authenticated account, which has a budget of its own. */
export type Client = { network: string } | { account: string };

export interface BudgetOptions {
  clock: Clock;
  random: Random;
  windowSeconds: number;
  perNetwork: NamedLimit;
  /** Overrides the limit of some networks; omitted: none. */
  limitOf?(network: string): number;
  /** Limit of a site, as a multiple of the limit of one of its networks. */
  networksPerSite: number;
  perAccount?: NamedLimit;
  /** For all networks together, and the same again for all accounts; omitted: no common limit. */
  forAll?: NamedLimit;
  rows?: number;
}

/** Units reserved before the work. */
export interface Reservation {
  /** Call once with the units really spent: refunds the difference, or charges what goes beyond it. */
  adjustTo(units: number): void;
}

export interface Budget {
  /** Reserves units; throws if a limit would be exceeded. `said`: options for the refusal. */
  take(client: Client, units: number, said?: RefusalOptions): Reservation;
  /** Like `take`, without the limit of all. */
  takeOwn(client: Client, units: number): Reservation;
  /** Counts units already spent, whose amount nobody could know before. */
  charge(client: Client, units: number): void;
  /** Whether that network or its site has no units left. */
  isSpent(network: string): boolean;
  /** False while no network has used up its limit; costs nothing. */
  mayBeSpent(): boolean;
  rows(): number;
}

/** The table, key and limit that count for one client. */
interface Counting {
  counts: WindowCounts;
  who: Counted;
  own: NamedLimit;
}

const ROWS = 10_000;
/** Divisor: a network that has used less than this part of its own limit is a newcomer. */
const NEWCOMER_PART = 10;

/** A budget counted by this process alone, in fixed windows, in memory that strangers cannot fill. */
export function createBudget(options: BudgetOptions): Budget {
  const { clock, random, windowSeconds, networksPerSite, forAll } = options;
  const windowMs = windowSeconds * 1_000;
  const rows = options.rows ?? ROWS;
  // Accounts share a budget of their own, so that strangers cannot use it up.
  const tables = { network: createWindowCounts(windowMs, rows), account: createWindowCounts(windowMs, rows) };
  /** The window in which some network used up its limit. */
  let spentIn = Number.NaN;

  const refuse = ({ name, limit }: NamedLimit, retryAfterMs: number, said: RefusalOptions = {}): never => {
    throw limitExceeded({ name, limit, windowSeconds, retryAfterMs }, said);
  };
  const checkOwn = (
    { counts, who, own }: Counting,
    { units, elapsedMs }: { units: number; elapsedMs: number },
    said?: RefusalOptions,
  ): void => {
    const leftMs = windowMs - elapsedMs;
    if (counts.of('network', who) + units > own.limit) refuse(own, leftMs, said);
    if (who.site === who.network) return;
    const ofSite = { ...own, limit: own.limit * networksPerSite };
    if (counts.of('site', who) + units > ofSite.limit) refuse(ofSite, leftMs, said);
  };
  const countingOf = (client: Client): Counting & { elapsedMs: number } => {
    const counts = 'account' in client ? tables.account : tables.network;
    return { counts, who: countedAs(client), own: ownLimit(options, client), elapsedMs: counts.roll(clock.now()) };
  };
  const take = (client: Client, requested: number, all: NamedLimit | undefined, said?: RefusalOptions): Reservation => {
    const counting = countingOf(client);
    const { counts, who, own, elapsedMs } = counting;
    // A limit below the reserved units still lets one request through.
    const units = Math.min(requested, Math.max(1, own.limit));
    checkOwn(counting, { units, elapsedMs }, said);
    const part = all === undefined ? null : takePart(counting, all, { units, elapsedMs }, said);
    counts.use(who, part, units);
    return { adjustTo: createAdjust(counting, part, units, () => clock.now()) };
  };
  const takePart = (
    { counts, who, own }: Counting,
    all: NamedLimit,
    request: { units: number; elapsedMs: number },
    said?: RefusalOptions,
  ): 'open' | 'kept' => {
    const newcomerUnits = Math.max(request.units, Math.floor(own.limit / NEWCOMER_PART));
    const share: Share = { limit: all.limit, windowMs, newcomerUnits };
    if (needsKept(share, counts.shareUse(who), request)) counts.noteAsk(who);
    const verdict = judgeShare(share, counts.shareUse(who), request, () => drawOf(random));
    return verdict.part ?? refuse(all, verdict.retryAfterMs, said);
  };

  return {
    take: (client, units, said) => take(client, units, forAll, said),
    takeOwn: (client, units) => take(client, units, undefined),
    charge: (client, units) => {
      const counting = countingOf(client);
      const { counts, who } = counting;
      counts.use(who, forAll === undefined ? null : 'open', units);
      if (hasSpent(counting, networksPerSite)) spentIn = counts.start();
    },
    isSpent: (network) => {
      const counting = countingOf({ network });
      if (spentIn !== counting.counts.start()) spentIn = Number.NaN;
      return hasSpent(counting, networksPerSite);
    },
    mayBeSpent: () => !Number.isNaN(spentIn),
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
    // Units reserved in a past window are not refunded to the current one.
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

/** The client's counted network or account name, with the networks around it. */
interface Counted extends NetworkLevels {
  network: string;
}

const LEVELS = ['network', 'site', 'siteKept', 'supernetKept'] as const;
type Level = (typeof LEVELS)[number];
/** Once a table is full, all supernets without a row share this one. */
const ELSEWHERE = 'elsewhere';

/**
 * Counts the current window. Strangers cannot grow a table: a network without a row counts with its site, a site with its supernet, and all
 * supernets without a row together.
 */
function createWindowCounts(windowMs: number, most: number) {
  const slot = slotMs({ windowMs });
  let start = Number.NaN;
  let slotAt = -1;
  let parts = { open: 0, kept: 0 };
  let used = createTables();
  let asks = new Map<string, number>();
  let asksBefore = new Map<string, number>();

  const add = (table: Map<string, number>, key: string, units: number): void => {
    const row = table.get(key);
    if (row !== undefined || table.size < most) table.set(key, Math.max(0, (row ?? 0) + units));
  };
  /** A supernet always has a row, its own or the shared one. */
  const rowOf = (table: Map<string, number>, supernet: string): string =>
    table.has(supernet) || table.size < most - 1 ? supernet : ELSEWHERE;

  return {
    /** Call first: starts a new window when due, and returns the milliseconds since the window began. */
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
    /** Negative units are refunded. `part` null: counts for the network and its site only. */
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
