import { createFaults } from './bounds.ts';
import { createPromises, type Promised } from './promises.ts';
import { canonicalOf, NO_HASH, nextHash, sha256 } from './running-hash.ts';
import { createTold, type EventDetail, type Told } from './told.ts';

/** A row of the log as SQL returns it. Numbers are text, and null until the row has a number. */
export interface LogRow {
  queue_id: string;
  id: string | null;
  kind: string;
  /** ISO 8601 time with microseconds. */
  at: string;
  listing_id: string | null;
  canonical: Buffer;
  in_door: boolean;
  in_window: boolean;
  /** Position in the whole log. Null in rows older than this column, whose position is their id. */
  nth: string | null;
  nth_of_kind: string | null;
  nth_of_door: string | null;
  nth_of_window: string | null;
  running_hash: Buffer | null;
  /** Unix time in seconds. */
  numbered_at: number | null;
}

/** A hash of all rows up to `last_id`, which were numbered before rows had hashes. */
export interface Baseline {
  last_id: string;
  running_hash: Buffer;
}

export interface LogFound {
  events: number;
  firstId: string | null;
  lastId: string | null;
  /** Hash of the last event. `hash` is the running hash up to it. */
  lastHash: string;
  hash: Buffer;
  /** Hash of the event that the state remembers. Null without a state. */
  remembered: Buffer | null;
  /** First event whose row has its hash. Null if no row has one. */
  hashedFrom: string | null;
  faults: string[];
  told: Told;
  promises: ReadonlyMap<number, Promised>;
  /** Number of listings for which the log promises only the price, as older events did. */
  priceOnly: number;
}

export interface LogJudge {
  /** Takes numbered rows in order of their ids, then the rows that still wait for a number. */
  take(row: LogRow): void;
  end(): LogFound;
}

/** Checks every row on its own, against the previous row, and against counts and hashes. If `baselines` is null, rows have no hashes. */
export function createLogJudge(baselines: readonly Baseline[] | null, rememberedId: string | null = null): LogJudge {
  const faults = createFaults();
  const told = createTold();
  const promises = createPromises({ since: firstFullEvent(baselines) });
  const counts = createCounts();
  const gaps = createGaps();
  const chain = createHashChain(baselines);
  let events = 0;
  let firstId: string | null = null;
  let previous: LogRow | null = null;
  let remembered: Buffer | null = null;
  return {
    take: (row) => {
      const read = readRecord(row);
      const name = row.id === null ? `the event in place ${row.queue_id} of the queue` : `event ${row.id}`;
      events += 1;
      const found = [...read.faults];
      told.take(name, { kind: row.kind, ...read });
      const id = row.id === null ? null : Number(row.id);
      faults.add(promises.take(name, { id, kind: row.kind, at: row.at, ...read }));
      if (row.id !== null) {
        gaps.take(previous, row, read.detail);
        found.push(...counts.take(row), ...faultsOfTimes(previous, row), ...chain.take(row));
        firstId ??= row.id;
        if (row.id === rememberedId) remembered = chain.hash();
        previous = row;
      }
      faults.add(found.map((fault) => `${name} ${fault}`));
    },
    end: () => {
      faults.add(gaps.faults());
      return {
        events,
        firstId,
        lastId: previous?.id ?? null,
        lastHash: sha256(previous?.canonical ?? NO_HASH),
        hash: chain.hash(),
        remembered,
        hashedFrom: chain.hashedFrom(),
        faults: faults.list(),
        told,
        promises: promises.of,
        priceOnly: promises.priceOnly(),
      };
    },
  };
}

/**
 * Returns the first event that must promise wallet and goods. A market with hashes from its first event always promised both. An upgraded
 * market began at a later event, which is unknown (null). Without hashes no event must promise them.
 */
function firstFullEvent(baselines: readonly Baseline[] | null): number | null {
  if (baselines === null) return Infinity;
  return baselines.length === 0 ? 1 : null;
}

interface ReadRecord {
  actor: string;
  detail: EventDetail;
  faults: string[];
}

/** Checks that the bytes say the same as the columns, in canonical JSON. */
function readRecord(row: LogRow): ReadRecord {
  const text = row.canonical.toString('utf8');
  let record: { actor?: unknown; at?: unknown; detail?: unknown; kind?: unknown };
  try {
    record = JSON.parse(text);
    if (record === null || typeof record !== 'object') throw new TypeError('not an object');
  } catch {
    return { actor: '', detail: {}, faults: ['has bytes that are no record'] };
  }
  const faults: string[] = [];
  if (canonicalOf(record) !== text || Object.keys(record).join() !== 'actor,at,detail,kind')
    faults.push('is not in canonical form');
  if (record.kind !== row.kind) faults.push(`is kept as ${row.kind} and says ${String(record.kind)}`);
  if (`${String(record.at).slice(0, -1)}000Z` !== row.at)
    faults.push(`is kept under ${row.at} and says ${String(record.at)}`);
  const detail = (record.detail ?? {}) as EventDetail;
  const listing = typeof detail.listing_id === 'number' ? String(detail.listing_id) : null;
  if (listing !== row.listing_id) faults.push(`is kept for listing ${row.listing_id} and tells of ${listing}`);
  return { actor: String(record.actor), detail, faults };
}

/**
 * Finds gaps between ids. A recovery skips past the highest id ever shown, and its event comes after the events that repeat what it ended.
 */
function createGaps() {
  const gaps: { before: bigint; after: bigint }[] = [];
  const explained: { kept: unknown; next: unknown }[] = [];
  return {
    take: (previous: LogRow | null, row: LogRow, detail: EventDetail): void => {
      const [before, after] = [BigInt(previous?.id ?? 0), BigInt(row.id ?? 0)];
      if (after !== before + 1n) gaps.push({ before, after });
      if (row.kind === 'recovery') explained.push({ kept: detail.kept_event_id, next: detail.next_event_id });
    },
    faults: (): string[] =>
      gaps
        .filter(
          ({ before, after }) => !explained.some((one) => one.next === Number(after) && Number(one.kept) <= before),
        )
        .map(({ before, after }) => `event ${after} comes after ${before}: a gap in the events`),
  };
}

function faultsOfTimes(previous: LogRow | null, row: LogRow): string[] {
  const faults: string[] = [];
  if (previous === null) return faults;
  if (previous.numbered_at !== null && row.numbered_at === null) faults.push('does not say when it was numbered');
  if (row.numbered_at !== null && row.numbered_at < (previous.numbered_at ?? 0))
    faults.push('was numbered before the one before it');
  return faults;
}

/** Checks the counts of each kind and view up to each row. A view consists of kinds, so rows of one kind are in the same views. */
function createCounts(): { take(row: LogRow): string[] } {
  const ofKind = new Map<string, bigint>();
  let ofLog = 0n;
  const views = new Map<string, string>();
  let door = 0n;
  let window = 0n;
  return {
    take: (row) => {
      const nth = (ofKind.get(row.kind) ?? 0n) + 1n;
      ofKind.set(row.kind, nth);
      ofLog += 1n;
      if (row.in_door) door += 1n;
      if (row.in_window) window += 1n;
      const view = `${row.in_door} ${row.in_window}`;
      const faults: string[] = [];
      if ((views.get(row.kind) ?? view) !== view) faults.push(`is shown in other views than others of ${row.kind}`);
      else views.set(row.kind, view);
      if ((row.nth ?? row.id) !== String(ofLog))
        faults.push(`is counted ${row.nth ?? row.id} of the log, and is ${ofLog}`);
      if (row.nth_of_kind !== String(nth)) faults.push(`is counted ${row.nth_of_kind} of its kind, and is ${nth}`);
      if (row.nth_of_door !== String(door)) faults.push(`is counted ${row.nth_of_door} of the door, and is ${door}`);
      if (row.nth_of_window !== String(window))
        faults.push(`is counted ${row.nth_of_window} of the window, and is ${window}`);
      // Continue from the row's own count, so that one wrong row counts as one fault.
      ofKind.set(row.kind, BigInt(row.nth_of_kind ?? nth));
      ofLog = BigInt(row.nth ?? ofLog);
      door = BigInt(row.nth_of_door ?? door);
      window = BigInt(row.nth_of_window ?? window);
      return faults;
    },
  };
}

interface HashChain {
  take(row: LogRow): string[];
  hash(): Buffer;
  hashedFrom(): string | null;
}

/**
 * Checks hashes. After the last baseline, each row has its own hash. A wrong hash is reported once, because later rows continue from its
 * value.
 */
function createHashChain(baselines: readonly Baseline[] | null): HashChain {
  const waiting = [...(baselines ?? [])].sort((a, b) => (BigInt(a.last_id) < BigInt(b.last_id) ? -1 : 1));
  const hashedAfter = BigInt(waiting.at(-1)?.last_id ?? 0);
  let hash = NO_HASH;
  let hashedFrom: string | null = null;
  let from = '1';
  /** Reports all rows up to the baseline, because it cannot tell which of them was changed. */
  const reach = (): string[] => {
    const baseline = waiting.shift();
    if (baseline === undefined) return [];
    const isSame = baseline.running_hash.equals(hash);
    const fault = `is where the hash of all events from ${from} on stands, which is another: one of them was changed, put in or taken out`;
    hash = baseline.running_hash;
    from = String(BigInt(baseline.last_id) + 1n);
    return isSame ? [] : [fault];
  };
  return {
    take: (row) => {
      const id = BigInt(row.id ?? 0);
      const faults: string[] = [];
      // The row of this baseline is missing.
      while (waiting[0] !== undefined && BigInt(waiting[0].last_id) < id) faults.push(...reach());
      hash = nextHash(hash, id, row.canonical);
      if (waiting[0] !== undefined && BigInt(waiting[0].last_id) === id) faults.push(...reach());
      if (baselines === null || id <= hashedAfter) return faults;
      hashedFrom ??= row.id;
      if (row.running_hash === null) return [...faults, 'has no running hash: it was put into the log'];
      if (row.running_hash.equals(hash)) return faults;
      hash = row.running_hash;
      return [...faults, 'has another running hash: it was changed, or one before it was put in or taken out'];
    },
    hash: () => hash,
    hashedFrom: () => hashedFrom,
  };
}
