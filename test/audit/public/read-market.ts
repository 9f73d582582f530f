import type { ListingSummary } from '../../../src/contract/listings.ts';
import type { Client } from '../../../src/sdk/client.ts';
import { systemEnvironment } from '../../../src/sdk/environment.ts';
import { MarketError } from '../../../src/sdk/errors.ts';
import { eventPages, type FeeRecord, shelfPages, treasuryPages } from '../../../src/sdk/pages.ts';
import { PageRefused } from '../../../src/sdk/walk-pages.ts';
import type { State } from '../keep-state.ts';
import type { Goods } from '../promises.ts';
import { canonicalOf, NO_HASH, nextHash, sha256 } from '../running-hash.ts';
import { type ToldEvent, unitsOf } from '../told.ts';

export interface PublicEvent extends ToldEvent {
  id: number;
}

export interface PublicLog {
  /** New since what the state remembers, oldest first; all without one. */
  events: PublicEvent[];
  /** From the first event on. */
  isWhole: boolean;
  last: State['event'];
  faults: string[];
}

/**
 * The public log, newest first as the market gives it and only down to the event that the state remembers. Its pages are held against
 * themselves by the walk: cursors, totals, and ids without a gap.
 */
export async function readLog(
  client: Client,
  before: State['event'],
  say: (progress: string) => void,
): Promise<PublicLog> {
  // Bytes, not records: that is what is hashed, and a log may be long.
  const rows: { id: number; canonical: Buffer }[] = [];
  const rememberedId = Number(before?.id ?? 0);
  const faults: string[] = [];
  try {
    for await (const page of eventPages(client)) {
      for (const { id, ...record } of page.rows) {
        if (id >= rememberedId) rows.push({ id, canonical: Buffer.from(canonicalOf(record)) });
      }
      say(`${rows.length} events of the public log`);
      if ((page.rows.at(-1)?.id ?? 0) <= rememberedId) break;
    }
  } catch (error) {
    if (!(error instanceof PageRefused)) throw error;
    faults.push(`the public log contradicts itself: ${error.message}`);
  }
  rows.reverse();
  let hash = NO_HASH;
  if (before !== null) {
    const [first] = rows;
    if (first?.id !== rememberedId) faults.push(`the public log has no event ${before.id}, which the state remembers`);
    else if (sha256(first.canonical) !== before.hash) faults.push(`event ${before.id} is not what the state remembers`);
    hash = Buffer.from(before.running_hash, 'hex');
    rows.shift();
  }
  for (const { id, canonical } of rows) hash = nextHash(hash, BigInt(id), canonical);
  const last = rows.at(-1);
  return {
    events: rows.map(({ id, canonical }) => ({ id, ...(JSON.parse(canonical.toString()) as ToldEvent) })),
    isWhole: before === null,
    last:
      last === undefined
        ? before
        : { id: String(last.id), hash: sha256(last.canonical), running_hash: hash.toString('hex') },
    faults,
  };
}

export interface PublicFees {
  /** New since the state, newest first. */
  fees: FeeRecord[];
  /** Of all of them, by their own sum. */
  units: bigint;
  lastId: number;
  faults: string[];
}

/** The books of the treasury, down to the fee that the state remembers. They add up to what the market says it has collected. */
export async function readFees(
  client: Client,
  before: { fee_id: number; fees_units: string } | null,
): Promise<PublicFees> {
  const rememberedId = before?.fee_id ?? 0;
  const faults: string[] = [];
  const fees: FeeRecord[] = [];
  const { body } = await client.getTreasury({ query: {} });
  const newest = body.recent_fees[0]?.id ?? 0;
  try {
    for await (const { rows } of treasuryPages(client)) {
      // What came after the first page was read belongs to the next audit.
      fees.push(...rows.filter(({ id }) => id > rememberedId && id <= newest));
      if ((rows.at(-1)?.id ?? 0) <= rememberedId) break;
    }
  } catch (error) {
    if (!(error instanceof PageRefused)) throw error;
    faults.push(`the treasury's books contradict themselves: ${error.message}`);
  }
  if (newest < rememberedId) faults.push(`the treasury's books have no fee ${rememberedId}, which the state remembers`);
  const units = fees.reduce((sum, fee) => sum + BigInt(unitsOf(fee.amount_usdc)), BigInt(before?.fees_units ?? 0));
  if (units !== BigInt(unitsOf(body.fees_collected_usdc)))
    faults.push(`the fees add up to ${units} units, and the treasury says ${unitsOf(body.fees_collected_usdc)}`);
  return { fees, units, lastId: Math.max(newest, rememberedId), faults };
}

/** Everything on the shelves, by id. */
export async function readShelves(
  client: Client,
  goodsOf: (listing: ListingSummary) => Goods,
): Promise<{ goods: Map<number, Goods>; faults: string[] }> {
  const goods = new Map<number, Goods>();
  try {
    for await (const { rows } of shelfPages(client)) for (const row of rows) goods.set(row.id, goodsOf(row));
  } catch (error) {
    if (!(error instanceof PageRefused)) throw error;
    return { goods, faults: [`the shelves contradict themselves: ${error.message}`] };
  }
  return { goods, faults: [] };
}

/** One that is not on the shelves any more; null: the market does not have it. */
export async function readListing(
  client: Client,
  id: number,
  goodsOf: (listing: ListingSummary) => Goods,
): Promise<Goods | null> {
  try {
    const { body } = await client.getListing({ params: { id }, query: {} });
    return goodsOf(body.listing);
  } catch (error) {
    if (error instanceof MarketError && (error.status === 404 || error.status === 409)) return null;
    throw error;
  }
}

const TRIES = 6;
const LONGEST_SECONDS = 60;

/** A market may ask a stranger who reads all of it to wait: that is done, some times. */
export async function patientFetch(url: string, init: RequestInit): Promise<Response> {
  // The time limit is that of one call; each try has its own.
  const { signal: _, ...request } = init;
  for (let round = 1; ; round += 1) {
    const answer = await fetch(url, { ...request, signal: systemEnvironment.deadline(30_000) });
    const isBusy = answer.status === 429 || answer.status === 503;
    if (!isBusy || round === TRIES) return answer;
    await answer.body?.cancel();
    const asked = Number(answer.headers.get('retry-after') ?? 1);
    await systemEnvironment.sleep(Math.min(LONGEST_SECONDS, Number.isFinite(asked) ? asked : 1) * 1_000);
  }
}
