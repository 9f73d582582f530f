import { createFaults } from '../bounds.ts';
import type { State } from '../keep-state.ts';
import { createPromises, type Promised, type Promises } from '../promises.ts';
import { NO_HASH, nextHash } from '../running-hash.ts';
import type { Market } from './ask-market.ts';
import { type ListedState, stateOf } from './faults-of-rows.ts';
import { type PublicSale, saleIn } from './prove.ts';
import { LOG_PAGE, type PublicEvent, walkLog } from './walk-log.ts';

export interface PublicLog {
  /** Number of events read: all, or those since the state. */
  read: number;
  /** True if reading began at the first event. */
  isWhole: boolean;
  /** False if reading stopped early because the log contradicts itself. */
  isWalked: boolean;
  last: State['event'];
  /** Unix time in seconds of the first event. Null if no event was read. */
  firstAt: number | null;
  promises: Promises;
  sales: PublicSale[];
  /** Ids of payments below the price that a person accepted. */
  reviewed: ReadonlySet<number>;
  /** Number of fees among `reviewed`. */
  reviewedFees: number;
  faults: string[];
}

export interface LogOrder {
  market: Market;
  before: State | null;
  since: number | null;
  maintainer: string | null;
  mostEvents: number;
  say(progress: string): void;
}

/**
 * Hashes the public log page by page and keeps only promises, sales and decisions. If the state comes from an older program and lacks the
 * listings or the maintainer, everything is read again and must produce the remembered hash.
 */
export async function readLog({ market, before, since, maintainer, mostEvents, say }: LogOrder): Promise<PublicLog> {
  const listings = before?.public?.maintainer === undefined ? undefined : before.public.listings;
  const event = before?.event ?? null;
  const from = listings === undefined || event === null ? null : { id: Number(event.id), hash: event.hash };
  const promisedFrom = since ?? before?.public?.promises_from ?? null;
  const promises = createPromises({ since: promisedFrom, maintainer, earlier: listings ?? [] });
  const taker = createTaker(promises, from === null ? event : null);
  let hash: Buffer = from === null || event === null ? NO_HASH : Buffer.from(event.running_hash, 'hex');
  const walked = await walkLog({
    ...{ market, from, mostEvents, say, knownBy: 'the state remembers' },
    take: (one, canonical) => {
      hash = nextHash(hash, BigInt(one.id), canonical);
      taker.take(one, hash);
    },
  });
  const { last } = walked;
  return {
    ...taker.end(),
    read: walked.read,
    isWhole: from === null,
    isWalked: walked.isWalked,
    last: last && { id: String(last.id), hash: last.hash, running_hash: hash.toString('hex') },
    promises,
    faults: [...walked.faults, ...taker.faults()],
  };
}

/** Collects the parts of events that later checks need. The running hash must match `remembered` on the way. */
function createTaker(promises: Promises, remembered: State['event']) {
  const faults = createFaults();
  const sales: PublicSale[] = [];
  const reviewed = new Set<number>();
  let reviewedFees = 0;
  let firstAt: number | null = null;
  let isMet = remembered === null;
  return {
    take: (event: PublicEvent, hash: Buffer): void => {
      const { id, at, detail } = event;
      firstAt ??= Date.parse(String(at)) / 1_000;
      if (remembered !== null && String(id) === remembered.id) {
        isMet = true;
        if (hash.toString('hex') !== remembered.running_hash)
          faults.add([`event ${id} is not what the state remembers`]);
      }
      faults.add(promises.take(`event ${id}`, event));
      const sold = saleIn(event, promises.of);
      if (sold !== null) sales.push(sold.sale);
      faults.add(sold?.faults ?? []);
      const isOfFee = event.kind === 'moderation' && detail.action === 'fee_review';
      if (detail.outcome !== 'deliver' || !(isOfFee || event.kind === 'review')) return;
      if (isOfFee) reviewedFees += 1;
      if (typeof detail.payment_id === 'number') reviewed.add(detail.payment_id);
    },
    end: () => ({ sales, reviewed, reviewedFees, firstAt }),
    faults: (): string[] => [
      ...(isMet ? [] : [`the public log has no event ${remembered?.id}, which the state remembers`]),
      ...faults.list(),
      ...promises.left(),
    ],
  };
}

/** Events of a listing since the log was read. */
export interface LaterTold {
  /** The promise after the newest of these events. */
  promised: Promised;
  /** Every commitment that the listing had after one of these events. */
  commitments: Set<string>;
  /** Every state that the listing had after one of these events. */
  states: Set<ListedState>;
}

export interface Later {
  of: ReadonlyMap<number, LaterTold>;
  faults: string[];
}

/**
 * Reads and checks events since the log was read. A change on the shelves that these events explain is not a fault. The next audit, which
 * reads these events first, checks whether their promises are complete.
 */
export async function readSince(log: PublicLog, order: Omit<LogOrder, 'before' | 'since'>): Promise<Later> {
  const of = new Map<number, LaterTold>();
  if (!log.isWalked) return { of, faults: [] };
  const from = log.last === null ? null : { id: Number(log.last.id), hash: log.last.hash };
  const { maintainer } = order;
  const promises = createPromises({ since: Infinity, maintainer, before: log.promises.of });
  const found = createFaults();
  const { faults } = await walkLog({
    ...{ ...order, from, knownBy: 'was read before', pageSize: LOG_PAGE - 1 },
    take: (event) => {
      found.add(promises.take(`event ${event.id}`, event));
      const id = Number(event.detail.listing_id);
      const promised = promises.of.get(id);
      if (promised === undefined) return;
      const told = of.get(id) ?? { promised, commitments: new Set(), states: new Set() };
      if (promised.commitment !== null) told.commitments.add(promised.commitment);
      of.set(id, { ...told, states: told.states.add(stateOf(promised)) });
    },
  });
  return { of, faults: [...faults, ...found.list()] };
}
