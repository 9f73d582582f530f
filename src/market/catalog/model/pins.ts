import type { PinPeriod } from '../feed/store.ts';

/** From one act to another; `ended` is 0 while it lasts. */
export interface Pin {
  id: number;
  began: number;
  ended: number;
}

export interface Pinned {
  act: number;
  /** Newest first. */
  ids: ReadonlySet<number>;
}

/** What was pinned right after that act. A walk keeps the pins with which it began. */
export function pinnedAt(pins: readonly Pin[], act: number): Pinned {
  const ids: number[] = [];
  for (const pin of pins) {
    if (pin.began > act || (pin.ended !== 0 && pin.ended <= act)) continue;
    ids.push(pin.id);
  }
  return { act, ids: new Set(ids.sort((a, b) => b - a)) };
}

/** Pages and walks of about the same time ask for the same acts. */
const MOST_ACTS = 16;
const known = new WeakMap<object, Map<number, Pinned>>();

/** The same, remembered: what comes later does not change it. */
export function pinnedAsOf(model: { pins: readonly Pin[]; pinAct: number }, act: number): Pinned {
  // Not all is known of an act that this copy has not come to.
  if (act > model.pinAct) return pinnedAt(model.pins, act);
  const asOf = known.get(model) ?? new Map<number, Pinned>();
  known.set(model, asOf);
  const found = asOf.get(act) ?? pinnedAt(model.pins, act);
  if (asOf.size >= MOST_ACTS) asOf.clear();
  asOf.set(act, found);
  return found;
}

/** Takes in the periods that began or ended up to this act. */
export function applyPins(
  model: { pins: Pin[]; act: number; pinAct: number },
  periods: readonly PinPeriod[],
  lastAct: bigint,
): void {
  for (const period of periods) {
    const id = Number(period.listing_id);
    const began = Number(period.began);
    const ended = Number(period.ended ?? 0n);
    const known = model.pins.find((pin) => pin.id === id && pin.began === began);
    if (known === undefined) model.pins.push({ id, began, ended });
    else known.ended = ended;
    model.pinAct = Math.max(model.pinAct, began, ended);
  }
  model.act = Number(lastAct);
}
