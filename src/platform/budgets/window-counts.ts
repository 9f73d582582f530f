import type { NetworkLevels } from '../http/client-network.ts';
import { SLOTS, type Standing, slotMs } from './share.ts';

/** Who asks: the network itself, or one name for a merchant, and what lies around it. */
export interface Counted extends NetworkLevels {
  network: string;
}

const LEVELS = ['network', 'site', 'siteKept', 'regionKept'] as const;
type Level = (typeof LEVELS)[number];
/** Once a table is full, all regions without a row share this one. */
const ELSEWHERE = 'elsewhere';

/**
 * What was used in the present window, by whom. Each table has a size that strangers cannot grow: a network that finds no row any more
 * is counted with its site, a site with its region, and regions without a row together.
 */
export function createWindowCounts(windowMs: number, most: number) {
  const slot = slotMs({ windowMs });
  let start = Number.NaN;
  let slotAt = -1;
  let parts = { open: 0, kept: 0 };
  let used = emptied();
  let asks = new Map<string, number>();
  let asksBefore = new Map<string, number>();

  const add = (table: Map<string, number>, key: string, units: number): void => {
    const row = table.get(key);
    if (row !== undefined || table.size < most) table.set(key, Math.max(0, (row ?? 0) + units));
  };
  /** The row of a region, which always has one. */
  const rowOf = (table: Map<string, number>, region: string): string =>
    table.has(region) || table.size < most - 1 ? region : ELSEWHERE;

  return {
    /** To be called first: what is older than the window is forgotten. Returns how far into it this is. */
    roll(now: number): number {
      const begun = Math.floor(now / windowMs) * windowMs;
      if (begun !== start) {
        start = begun;
        slotAt = -1;
        parts = { open: 0, kept: 0 };
        used = emptied();
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
    standing({ network, site, region }: Counted): Standing {
      return {
        ...parts,
        network: used.network.get(network) ?? 0,
        siteKept: used.siteKept.get(site) ?? 0,
        regionKept: used.regionKept.get(rowOf(used.regionKept, region)) ?? 0,
        regionsAsking: Math.max(asks.size, asksBefore.size),
        asksOfRegion: Math.max(asks.get(rowOf(asks, region)) ?? 0, asksBefore.get(region) ?? 0),
      };
    },
    noteAsk: ({ region }: Counted): void => add(asks, rowOf(asks, region), 1),
    /** Negative units give back. `part` null: counts for the network and its site alone, for no part of the budget. */
    use({ network, site, region }: Counted, part: 'open' | 'kept' | null, units: number): void {
      add(used.network, network, units);
      add(used.site, site, units);
      if (part === null) return;
      parts[part] = Math.max(0, parts[part] + units);
      if (part === 'open') return;
      add(used.siteKept, site, units);
      add(used.regionKept, rowOf(used.regionKept, region), units);
    },
    /** Rows in the largest table. */
    rows: (): number => Math.max(asks.size, ...LEVELS.map((level) => used[level].size)),
  };
}

function emptied(): Record<Level, Map<string, number>> {
  return { network: new Map(), site: new Map(), siteKept: new Map(), regionKept: new Map() };
}

export type WindowCounts = ReturnType<typeof createWindowCounts>;
