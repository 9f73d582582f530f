import type { Tx } from '../../../platform/database/database.ts';
import { unpackListing } from '../listing-facts.ts';
import { putFragment } from '../model/apply-listing.ts';
import { isFilled } from '../model/is-filled.ts';
import type { Model } from '../model/model.ts';
import { pinnedAt } from '../model/pins.ts';
import { type PackedRow, readListings, readListingsBetween } from '../store.ts';
import { eachRange } from './each-range.ts';

const PORTION = 2_000;

/** What is asked for first: the newest, and what is pinned. All there is, in a market that has no more. */
export async function fillFirst(model: Model, tx: Tx, newestId: bigint): Promise<void> {
  const above = newestId - BigInt(PORTION);
  for (const row of await readListingsBetween(tx, above > 0n ? above : 0n, newestId)) fillListing(model, row);
  if (above <= 0n) model.filling.rise(Number.POSITIVE_INFINITY);
  const pinned = pinnedAt(model.pins, model.act).ids.filter((id) => !isFilled(model, id));
  if (pinned.length === 0) return;
  for (const row of await readListings(tx, pinned.slice(0, PORTION).map(BigInt)))
    putFragment(model, Number(row.id), row);
}

/** Reads the JSON of all listings in the order of their ids, in the snapshot that the model was of first. */
export async function fillModel(
  model: Model,
  tx: Tx,
  { newestId, stopped }: { newestId: bigint; stopped(): boolean },
): Promise<void> {
  if (model.filling.upTo() === Number.POSITIVE_INFINITY) return;
  await eachRange(
    { last: newestId, size: PORTION },
    (above, upTo) => readListingsBetween(tx, above, upTo),
    (row) => fillListing(model, row),
    (upTo) => {
      model.filling.rise(upTo);
      return !stopped();
    },
  );
  model.filling.rise(Number.POSITIVE_INFINITY);
}

/** What is there already is as new as this, or newer: it came with a step that the model has made since. */
function fillListing(model: Model, row: PackedRow): void {
  // The text of the packed facts begins with the id.
  const id = Number.parseInt(row.facts, 10);
  if (!isFilled(model, id)) putFragment(model, id, unpackListing(row));
}
