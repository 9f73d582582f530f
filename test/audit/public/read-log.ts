import type { Client } from '../../../src/sdk/client.ts';
import { eventPages } from '../../../src/sdk/pages.ts';
import { PageRefused } from '../../../src/sdk/walk-pages.ts';
import type { State } from '../keep-state.ts';
import { canonicalOf, NO_HASH, nextHash, sha256 } from '../running-hash.ts';
import type { ToldEvent } from '../told.ts';

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
