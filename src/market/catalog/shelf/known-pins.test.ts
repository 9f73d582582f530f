import { expect, it } from 'vitest';
import { createModel, type Model } from '../model/model.ts';
import { applyPins } from '../model/pins.ts';
import { pinnedAsOf, pinsMovedSince } from './known-pins.ts';

const moreBytes = { fragmentBytes: 1_024, deflatedBytes: 1_024, pageBytes: 0 };

function pinned(model: Model, periods: readonly [id: bigint, began: bigint, ended: bigint | null][]): void {
  const rows = periods.map(([listing_id, began, ended]) => ({ listing_id, began, ended }));
  const last = Math.max(...rows.flatMap(({ began, ended }) => [Number(began), Number(ended ?? 0n)]));
  applyPins(model, rows, BigInt(last));
}

it('knows the pins of each act, also when they moved since and when more acts are asked for than are kept', () => {
  const model = createModel({ ...moreBytes, giveWay: async () => {} });
  pinned(model, [
    [7n, 1n, null],
    [9n, 2n, null],
  ]);
  expect(pinnedAsOf(model, 1).ids).toEqual([7]);
  expect(pinnedAsOf(model, 2).ids).toEqual([9, 7]);
  // An act that is still to come: what is known of it now is not what will be.
  expect(pinnedAsOf(model, 3).ids).toEqual([9, 7]);
  expect(pinsMovedSince(model, 2)).toEqual([]);
  pinned(model, [[7n, 1n, 3n]]);
  for (let act = 0; act < 40; act += 1) expect(pinnedAsOf(model, act).ids).toEqual([[], [7], [9, 7]][act] ?? [9]);
  expect(pinsMovedSince(model, 2)).toEqual([7]);
  expect(pinsMovedSince(model, 1)).toEqual([7, 9]);
  expect(pinsMovedSince(model, 3)).toEqual([]);
});
