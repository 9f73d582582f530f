import type { Model } from '../model/model.ts';
import { movedSince, type Pinned, pinnedAt } from '../model/pins.ts';

/** Pins move seldom, and all pages and walks of about the same time ask for the same acts. */
const MOST_ACTS = 16;

interface Known {
  asOf: Map<number, Pinned>;
  /** Up to this act. */
  upTo: number;
  moved: Map<number, readonly number[]>;
}

const known = new WeakMap<Model, Known>();

function knownOf(model: Model): Known {
  const found = known.get(model) ?? { asOf: new Map(), upTo: model.pinAct, moved: new Map() };
  known.set(model, found);
  if (found.upTo !== model.pinAct) {
    found.upTo = model.pinAct;
    found.moved.clear();
  }
  return found;
}

/** What was pinned right after that act; what comes later does not change it. */
export function pinnedAsOf(model: Model, act: number): Pinned {
  // Not all is known of an act that this copy has not come to.
  if (act > model.pinAct) return pinnedAt(model.pins, act);
  return remember(knownOf(model).asOf, act, () => pinnedAt(model.pins, act));
}

/** Listings whose pin began or ended after that act. */
export function pinsMovedSince(model: Model, act: number): readonly number[] {
  return remember(knownOf(model).moved, act, () => movedSince(model.pins, act));
}

function remember<T>(kept: Map<number, T>, act: number, make: () => T): T {
  const found = kept.get(act);
  if (found !== undefined) return found;
  const made = make();
  if (kept.size >= MOST_ACTS) kept.clear();
  kept.set(act, made);
  return made;
}
