import type { PinPeriod } from '../feed/store.ts';
import { createPosting, type Posting, setLevel } from '../sets/posting.ts';

/** From one act to another; `ended` is 0 while it lasts. */
export interface Pin {
  id: number;
  began: number;
  ended: number;
}

export interface Pinned {
  act: number;
  ids: readonly number[];
  posting: Posting;
}

/** What was pinned right after that act. A walk keeps the pins with which it began. */
export function pinnedAt(pins: readonly Pin[], act: number): Pinned {
  const posting = createPosting();
  const ids: number[] = [];
  for (const pin of pins) {
    if (pin.began > act || (pin.ended !== 0 && pin.ended <= act)) continue;
    ids.push(pin.id);
  }
  ids.sort((a, b) => a - b);
  for (const id of ids) setLevel(posting, id, 1);
  return { act, ids: ids.reverse(), posting };
}

/** Whose pin began or ended after that act. */
export function movedSince(pins: readonly Pin[], act: number): number[] {
  return pins.filter(({ began, ended }) => began > act || ended > act).map(({ id }) => id);
}

/** Takes in the periods that began or ended up to this act. */
export function applyPins(
  model: { pins: Pin[]; act: number; pinAct: number; version: number; changed: { pins: number } },
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
  if (periods.length > 0) model.changed.pins = model.version + 1;
  model.act = Number(lastAct);
}
