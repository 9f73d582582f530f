import { MAINTAINER_MERCHANT_ID } from '../../contract/vocabulary.ts';
import type { Tx } from '../../platform/database/database.ts';
import { constraintOf } from '../../platform/database/database-error.ts';
import { toHex } from '../../platform/hex.ts';
import { CommandRefused } from '../../platform/run-command.ts';
import type { Market } from '../context.ts';
import { type JsonValue, recordEvent } from '../events/record-event.ts';
import { clearArtifact, findGoods, findUndecided, readNames } from '../goods/keeping/erasure-store.ts';
import { deleteNames } from '../goods/keeping/prune-goods.ts';
import { forgetDeletions } from '../goods/keeping/store.ts';
import { deleteObject } from '../goods/object-store.ts';
import { findHandleOrNull } from '../identity/store.ts';
import { type ChangingListing, lockListing } from '../listings/changes/store.ts';
import { judgeStep } from '../listings/listing-steps.ts';
import { markRemoved } from './store.ts';

export interface ErasureOptions {
  listingId: bigint;
  reasonCode: string;
  /** Also erases while payments for the goods are undecided. */
  despitePayments: boolean;
}

export interface Erased {
  status: 'erased' | 'erased_before';
  listing_id: number;
  reason_code: string;
  artifact_commitment: string;
  artifact_bytes: number;
  /** Whether this act also removed the listing. */
  removed: boolean;
  /** Number of purchases whose buyers cannot collect the goods any more. */
  purchases: number;
  /** Payments that may still complete and then deliver nothing. */
  undecided_payments: number[];
  /** Objects of the S3 store that the market deletes as soon as it reaches the store. */
  objects_left: number;
}

type Erasing = Pick<Market, 'database' | 'clock' | 'log' | 'wakeEvents' | 'objectStore'>;

/**
 * Removes the bytes of goods at once, for good, in any state of the listing. Row, size, commitment and history stay. Removes the listing in
 * the same transaction, so that nobody pays for erased goods.
 */
export async function eraseGoods(market: Erasing, options: ErasureOptions): Promise<Erased> {
  const { database, objectStore } = market;
  const { names, ...erased } = await database
    .transaction((tx) => eraseInTransaction(tx, market, options), { statementTimeoutMs: 0 })
    .catch(explainLoss);
  if (names.length === 0 || objectStore === null) return { ...erased, objects_left: names.length };
  const failed = new Set(await deleteNames(market, objectStore, names));
  const deleted = names.filter((name) => !failed.has(name));
  await forgetDeletions(database, deleted);
  return { ...erased, objects_left: failed.size };
}

function explainLoss(error: unknown): never {
  if (constraintOf(error)?.constraint !== 'history_is_whole') throw error;
  throw new CommandRefused('the database has lost a part of its history: run "npm run chain -- recover" first');
}

/** Erases in the caller's transaction. `names` are objects of the S3 store that are due now. `again` is added to the detail of the events. */
export async function eraseInTransaction(
  tx: Tx,
  market: Pick<Market, 'clock' | 'wakeEvents'>,
  { listingId, reasonCode, despitePayments }: ErasureOptions,
  again: Readonly<Record<string, JsonValue>> = {},
): Promise<Omit<Erased, 'objects_left'> & { names: string[] }> {
  const listing = await lockListing(tx, listingId);
  const goods = listing && (await findGoods(tx, listingId));
  if (listing === null || goods === null) throw new CommandRefused(`there is no listing ${listingId} with goods`);
  const about = {
    listing_id: Number(listingId),
    artifact_commitment: toHex(goods.artifact_commitment),
    artifact_bytes: Number(goods.artifact_bytes),
    purchases: Number(goods.purchases),
  };
  if (goods.erased) {
    const before = { reason_code: goods.reason_code ?? reasonCode, removed: false, undecided_payments: [], names: [] };
    return { ...about, status: 'erased_before', ...before };
  }
  const undecided = (await findUndecided(tx, listingId)).map(Number);
  if (undecided.length > 0 && !despitePayments) throw refuseUndecided(undecided);
  const actor = await findHandleOrNull(tx, BigInt(MAINTAINER_MERCHANT_ID));
  if (actor === null) throw new CommandRefused('there is no maintainer yet: create it first, see --help');
  const now = new Date(market.clock.now());
  const detail = { listing_id: Number(listingId), merchant_id: Number(listing.merchantId), reason_code: reasonCode };
  const removed = await removeListed(tx, listing, { reasonCode, now });
  if (removed)
    await recordEvent(tx, market, { kind: 'moderation', actor, detail: { action: 'remove', ...detail, ...again } });
  const names = await takeBytes(tx, goods.object_id, { listingId, reasonCode, now });
  const { artifact_commitment: commitment } = about;
  await recordEvent(tx, market, {
    kind: 'moderation',
    actor,
    detail: { action: 'erase', ...detail, artifact_commitment: commitment, ...again },
  });
  return { ...about, status: 'erased', reason_code: reasonCode, removed, undecided_payments: undecided, names };
}

function refuseUndecided(undecided: readonly number[]): CommandRefused {
  return new CommandRefused(
    `payments for these goods are undecided (${undecided.join(', ')}): their buyers may have paid and would get nothing. Remove the listing and wait, or erase with --despite-payments`,
  );
}

/** Returns false if the listing is removed already. */
async function removeListed(
  tx: Tx,
  listing: ChangingListing,
  { reasonCode, now }: { reasonCode: string; now: Date },
): Promise<boolean> {
  if (judgeStep(listing, 'remove') !== 'removed') return false;
  const reason = 'The maintainer erased the goods.';
  markRemoved(tx, listing.id, { reasonCode, reason, removedBy: BigInt(MAINTAINER_MERCHANT_ID), now });
  return true;
}

/** Removes the bytes. Returns the names of the objects that the S3 store has to delete. */
async function takeBytes(
  tx: Tx,
  objectId: bigint | null,
  erasure: { listingId: bigint; reasonCode: string; now: Date },
): Promise<string[]> {
  await clearArtifact(tx, erasure);
  if (objectId === null) return [];
  const names = await readNames(tx, objectId);
  await deleteObject(tx, objectId, erasure.now, erasure.now);
  return names;
}
