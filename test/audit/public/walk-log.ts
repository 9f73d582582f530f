import { BoundMet, mustHaveMemory } from '../bounds.ts';
import { shown } from '../print.ts';
import type { LoggedEvent } from '../promises.ts';
import { canonicalOf, sha256 } from '../running-hash.ts';
import type { EventDetail } from '../told.ts';
import type { Market } from './ask-market.ts';
import { type Fields, faultOfPage, readFields } from './read-fields.ts';

export interface PublicEvent extends LoggedEvent {
  id: number;
}

/** A known event and the hash of its bytes. */
export interface Anchor {
  id: number;
  hash: string;
}

export interface LogWalk {
  market: Market;
  /** Starts after this event, which must be unchanged. Null starts at the first event. */
  from: Anchor | null;
  /** End of a sentence in messages that says how the event is known. */
  knownBy: 'the state remembers' | 'was read before';
  mostEvents: number;
  /** Events per page. An unusual size makes a URL that no cache has stored. */
  pageSize?: number;
  /** Takes events in order of the log. */
  take(event: PublicEvent, canonical: Buffer): void;
  say(progress: string): void;
}

export interface WalkedLog {
  last: Anchor | null;
  read: number;
  /** False if reading stopped early because the log contradicts itself. */
  isWalked: boolean;
  faults: string[];
}

/** The log contradicts itself or an earlier reading. */
class LogRefused extends Error {}
const contradiction = (what: string): LogRefused => new LogRefused(`the public log contradicts itself: ${what}`);

export const LOG_PAGE = 200;
/** Limit on one event in bytes. The longest that a market writes, a recovery with its reason, has six thousand. */
const EVENT_BYTES = 8_192;
const EVENT_DEPTH = 6;
/** Limit on gaps between ids, and on pages without a new event. Each needs a recovery, and recoveries are rare. */
const MAX_GAPS = 1_000;

/**
 * Reads the public log from its oldest event to the newest, so that each page can be hashed and dropped. Every page begins with the last
 * event of the previous one, so pages of two logs do not fit together. Ids have no gaps except those that a recovery in the log explains.
 */
export async function walkLog(walk: LogWalk): Promise<WalkedLog> {
  const taker = createTaker(walk);
  try {
    const newest = await readNewest(walk);
    mustBeRead(walk, newest);
    taker.expect(newest.total);
    const lowest = newest.rows[0]?.event.id ?? 0;
    const nextPage = createNavigation(walk, lowest);
    for (let covered = walk.from?.id ?? 0; newest.hasMore && !taker.reaches(lowest, covered); ) {
      const { page, cursor } = await nextPage(covered);
      taker.takePage(page);
      covered = cursor - 1;
      walk.say(`${taker.read()} events of the public log`);
      mustHaveMemory();
    }
    taker.takePage(newest);
    return taker.end(newest.total);
  } catch (error) {
    if (!(error instanceof LogRefused)) throw error;
    return { ...taker.so(), isWalked: false, faults: [error.message] };
  }
}

/** Asks again if the log ends before a known event, because the first answer may come from a cache. */
async function readNewest({ market, from, pageSize }: LogWalk): Promise<Page> {
  const read = async (): Promise<Page> => {
    const page = await readPage(market, { pageSize });
    if (page === null) throw contradiction('its newest page is refused');
    return page;
  };
  const newest = await read();
  if (from === null || (newest.rows.at(-1)?.event.id ?? 0) >= from.id) return newest;
  await market.outlastCaches();
  return await read();
}

function mustBeRead({ from, knownBy, mostEvents }: LogWalk, { rows, total }: Page): void {
  const top = rows.at(-1)?.event.id ?? 0;
  if (from !== null && top < from.id) throw new LogRefused(`the public log has no event ${from.id}, which ${knownBy}`);
  if (total > top) throw contradiction(`it says ${total} events, and the newest is event ${top}`);
  if (from === null && total > mostEvents) throw tooLong(`${total} events`, mostEvents);
}

const tooLong = (what: string, most: number): BoundMet =>
  new BoundMet(`the log has ${what}, and at most ${most} are read. Allow more with --max-events`);

/** Takes pages, oldest first. Each overlaps the previous one. */
function createTaker({ from, knownBy, mostEvents, take }: LogWalk) {
  let last = from;
  let read = 0;
  let promised = Infinity;
  let barren = 0;
  let isVerified = from === null;
  const gaps = createGaps();

  const verify = ({ rows, hasMore }: Page): void => {
    if (last === null) {
      if (hasMore) throw contradiction('it goes on before its first page');
      return;
    }
    const { id, hash } = last;
    const again = rows.find(({ event }) => event.id === id);
    // The newest page may begin directly after the last event taken.
    if (again === undefined && isVerified && (rows[0]?.event.id ?? 0) > id) return;
    const by = isVerified ? 'was read before' : knownBy;
    if (again === undefined) throw new LogRefused(`the public log has no event ${id}, which ${by}`);
    if (sha256(again.canonical) !== hash) throw new LogRefused(`event ${id} is not what ${by}`);
    isVerified = true;
  };

  const takeRow = ({ event, canonical }: Row): void => {
    read += 1;
    if (read > mostEvents) throw tooLong(`more than ${mostEvents} events`, mostEvents);
    if (from === null && read > promised) throw contradiction(`it has more than the ${promised} events that it says`);
    gaps.take(last?.id ?? 0, event);
    last = { id: event.id, hash: sha256(canonical) };
    take(event, canonical);
  };

  return {
    expect: (total: number): void => {
      promised = total;
    },
    /** Returns whether the newest page continues from here. */
    reaches: (lowest: number, covered: number): boolean => lowest <= covered || (lowest === covered + 1 && isVerified),
    takePage: (page: Page): void => {
      verify(page);
      const fresh = page.rows.filter(({ event }) => event.id > (last?.id ?? 0));
      if (fresh.length === 0) barren += 1;
      if (barren > MAX_GAPS) throw contradiction('page after page has no event');
      for (const row of fresh) takeRow(row);
    },
    read: () => read,
    so: () => ({ last, read }),
    end: (total: number): WalkedLog => {
      const isShort = from === null && read < total;
      const short = isShort ? [contradiction(`it has ${read} events, and says ${total}`).message] : [];
      return { last, read, isWalked: true, faults: [...short, ...gaps.faults()] };
    },
  };
}

/** Explains gaps between ids. A recovery skips past the highest id ever shown, and its event comes after the gap. */
function createGaps() {
  const gaps: { before: number; after: number }[] = [];
  const explained = new Map<number, number>();
  return {
    take: (before: number, { id, kind, detail }: PublicEvent): void => {
      if (id !== before + 1) gaps.push({ before, after: id });
      if (gaps.length > MAX_GAPS) throw contradiction(`it has more than ${MAX_GAPS} gaps`);
      if (kind === 'recovery') explained.set(Number(detail.next_event_id), Number(detail.kept_event_id));
    },
    faults: (): string[] =>
      gaps
        .filter(({ before, after }) => !((explained.get(after) ?? Infinity) <= before))
        .map(
          ({ before, after }) =>
            contradiction(`event ${after} comes after event ${before}, and no recovery explains it`).message,
        ),
  };
}

/**
 * Finds the next page. A cursor must be the id of an event, so it cannot point into a gap. The log's recoveries then say where it
 * continues. This is only a hint, because the log itself must explain the gap.
 */
function createNavigation(
  { market, pageSize = LOG_PAGE }: LogWalk,
  lowest: number,
): (covered: number) => Promise<{ page: Page; cursor: number }> {
  let hints: number[] | null = null;
  return async (covered) => {
    const cursor = Math.min(covered + pageSize, lowest);
    const page = await readPage(market, { before: cursor, pageSize });
    if (page !== null) return { page, cursor };
    hints ??= await readHints(market);
    const next = hints.find((id) => id > cursor && id <= lowest);
    const beyond = next === undefined ? null : await readPage(market, { before: next, pageSize });
    if (next === undefined || beyond === null)
      throw contradiction(`there is no event ${cursor}, and no recovery explains it`);
    return { page: beyond, cursor: next };
  };
}

/** Returns the ids at which the log continued after each recovery, lowest first. */
async function readHints(market: Market): Promise<number[]> {
  const hints: number[] = [];
  for (let before: number | undefined; ; ) {
    const page = await readPage(market, { before, kind: 'recovery' });
    if (page === null) throw contradiction('its recoveries are refused');
    for (const { event } of page.rows) {
      const next = event.detail.next_event_id;
      if (Number.isSafeInteger(next)) hints.push(Number(next));
    }
    const oldest = page.rows[0]?.event.id ?? 0;
    if (!page.hasMore) return hints.sort((a, b) => a - b);
    if (hints.length > MAX_GAPS || oldest >= (before ?? Infinity)) throw contradiction('its recoveries do not end');
    before = oldest;
  }
}

interface Row {
  event: PublicEvent;
  canonical: Buffer;
}

interface Page {
  rows: Row[];
  total: number;
  hasMore: boolean;
}

interface PageOrder {
  before?: number | undefined;
  kind?: string;
  pageSize?: number | undefined;
}

/** Returns the newest events, or the newest ones before the event `before`. Null if no event has that id. */
async function readPage(market: Market, { before, kind, pageSize = LOG_PAGE }: PageOrder): Promise<Page | null> {
  const answer = await market.get('/api/events', { limit: pageSize, before_id: before, kind });
  if (answer.status !== 200) {
    if (answer.status === 400 && before !== undefined) return null;
    throw contradiction(`a page is refused with ${answer.status}`);
  }
  const body = readFields(answer.body, 'the log');
  const given = body.rows('events', pageSize);
  const [total, hasMore] = [body.count('total'), body.flag('has_more')];
  const counts = { total, hasMore, returned: body.count('returned'), size: body.count('page_size') };
  const fault = faultOfPage(counts, given.length, pageSize);
  if (fault !== null) throw contradiction(fault);
  const rows = given.map(readRow);
  mustFall(rows, before);
  const next = body.idOrNull('next_before_id');
  if (next !== (hasMore ? (rows.at(-1)?.event.id ?? null) : null))
    throw contradiction(`a page goes on before ${shown(next)}, which is not its last event`);
  return { rows: rows.reverse(), total, hasMore };
}

function mustFall(rows: readonly Row[], before = Infinity): void {
  let last = before;
  for (const { event } of rows) {
    if (event.id >= last) throw contradiction(`event ${event.id} stands where one before ${last} was to come`);
    last = event.id;
  }
}

const MEMBERS = 'actor,at,detail,id,kind';

function readRow(row: Fields): Row {
  const id = row.id('id');
  const members = row.names().sort().join();
  if (members !== MEMBERS) throw contradiction(`event ${id} has other members than its hash covers`);
  const detail = row.raw('detail');
  row.object('detail');
  if (!isShallow(detail, EVENT_DEPTH)) throw contradiction(`event ${id} has more than ${EVENT_DEPTH} levels`);
  row.time('at');
  const record = { actor: row.text('actor', 64), at: row.raw('at'), detail, kind: row.word('kind') };
  const canonical = Buffer.from(canonicalOf(record));
  if (canonical.length > EVENT_BYTES)
    throw new BoundMet(
      `event ${id} has ${canonical.length} bytes, and a market writes none of more than ${EVENT_BYTES}. Ask who runs it`,
    );
  return {
    event: { id, kind: record.kind, at: record.at, actor: record.actor, detail: detail as EventDetail },
    canonical,
  };
}

/** Checks the depth before any recursion. */
function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((one) => isShallow(one, levels - 1));
}
