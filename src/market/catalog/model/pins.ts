import type { PinPeriod } from '../feed/store.ts';

/** A pin, with the acts that began and ended it. `ended` is 0 while the listing is pinned. */
export interface Pin {
  id: number;
  began: number;
  ended: number;
}

export interface Pinned {
  revision: number;
  /** Newest first. */
  ids: ReadonlySet<number>;
}

/** Returns the listings that were pinned right after an act. A page cursor keeps the pins of its first page. */
export function pinnedAt(pins: readonly Pin[], revision: number): Pinned {
  const ids: number[] = [];
  for (const pin of pins) {
    if (pin.began > revision || (pin.ended !== 0 && pin.ended <= revision)) continue;
    ids.push(pin.id);
  }
  return { revision, ids: new Set(ids.sort((a, b) => b - a)) };
}

/** A few are enough, because cursors of about the same time refer to the same acts. */
const MOST_REVISIONS = 16;
const pinnedCache = new WeakMap<object, Map<number, Pinned>>();

/** Caches `pinnedAt`, because later acts do not change its result. */
export function pinnedAsOf(model: { pins: readonly Pin[]; pinRevision: number }, revision: number): Pinned {
  // Do not cache the pins of an act that this copy has not reached, because some of them may still be missing.
  if (revision > model.pinRevision) return pinnedAt(model.pins, revision);
  const byRevision = pinnedCache.get(model) ?? new Map<number, Pinned>();
  pinnedCache.set(model, byRevision);
  const pinned = byRevision.get(revision) ?? pinnedAt(model.pins, revision);
  if (byRevision.size >= MOST_REVISIONS) byRevision.clear();
  byRevision.set(revision, pinned);
  return pinned;
}

export function applyPins(
  model: { pins: Pin[]; revision: number; pinRevision: number },
  periods: readonly PinPeriod[],
  lastRevision: bigint,
): void {
  for (const period of periods) {
    const id = Number(period.listing_id);
    const began = Number(period.began);
    const ended = Number(period.ended ?? 0n);
    const existing = model.pins.find((pin) => pin.id === id && pin.began === began);
    if (existing === undefined) model.pins.push({ id, began, ended });
    else existing.ended = ended;
    model.pinRevision = Math.max(model.pinRevision, began, ended);
  }
  model.revision = Number(lastRevision);
}
