import { type EventKind, SCOPE_KINDS } from '../../contract/vocabulary.ts';
import { canonicalJson } from '../../platform/canonical-json.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Tx } from '../../platform/database/database.ts';
import type { Market } from '../context.ts';
import { insertEvent } from './store.ts';

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

export interface EventToRecord {
  kind: EventKind;
  /** A handle, or `system`. */
  actor: string;
  /** Public forever, so it holds ids and facts, never bodies or secrets. */
  detail: Record<string, JsonValue>;
}

/** Queues the event in the transaction that it records. Soon after the commit it gets its number and becomes readable. */
export async function recordEvent(
  tx: Tx,
  market: Pick<Market, 'clock' | 'wakeEvents'>,
  { kind, actor, detail }: EventToRecord,
): Promise<void> {
  const now = market.clock.now();
  const listing = detail['listing_id'];
  const canonical = canonicalJson({ actor, at: isoTime(now), detail, kind });
  insertEvent(tx, {
    kind,
    at: new Date(now),
    canonical: Buffer.from(canonical, 'utf8'),
    inDoor: SCOPE_KINDS.door.includes(kind),
    inWindow: SCOPE_KINDS.window.includes(kind),
    listingId: typeof listing === 'number' ? BigInt(listing) : null,
  });
  tx.afterCommit(market.wakeEvents);
}
