import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rotatedRounds, rotationPart } from '../../../../test/suite/rotation.ts';
import { walkShelves } from '../../../../test/support/ask.ts';
import { createTestDatabase } from '../../../../test/support/database.ts';
import { marketContext, settableClock } from '../../../../test/support/market-context.ts';
import {
  hideAllListings,
  moveListing,
  pinListing,
  removeListing,
  restoreListing,
  seedListing,
  seedMerchant,
  withdrawListing,
} from '../../../../test/support/seed.ts';
import type { Aisle } from '../../../contract/vocabulary.ts';
import type { Database } from '../../../platform/database/database.ts';

type Act = { kind: 'add' | 'withdraw' | 'remove' | 'pin' | 'unpin' | 'move' | 'return'; which: number; aisle: Aisle };
const aisles: Aisle[] = ['data', 'tools'];
const act = fc.record({
  kind: fc.constantFrom<Act['kind']>('add', 'add', 'withdraw', 'remove', 'pin', 'unpin', 'move', 'return'),
  which: fc.nat(100),
  aisle: fc.constantFrom(...aisles),
});
const plan = fc.record({
  start: fc.array(fc.record({ aisle: fc.constantFrom(...aisles), pinned: fc.boolean() }), { maxLength: 12 }),
  limit: fc.integer({ min: 1, max: 4 }),
  aisle: fc.option(fc.constantFrom(...aisles), { nil: undefined }),
  acts: fc.array(fc.array(act, { maxLength: 4 }), { maxLength: 12 }),
});

/** Performs the act and returns the listing that later pages may leave out. */
async function perform(
  database: Database,
  merchantId: bigint,
  ids: bigint[],
  { kind, which, aisle }: Act,
): Promise<bigint | null> {
  if (kind === 'add') {
    await seedListing(database, merchantId, { aisle, pinned: which % 3 === 0 });
    return null;
  }
  const id = ids[which % ids.length];
  if (id === undefined) return null;
  if (kind === 'pin' || kind === 'unpin') {
    await pinListing(database, id, kind === 'pin');
    return null;
  }
  if (kind === 'withdraw') await withdrawListing(database, id);
  if (kind === 'remove') await removeListing(database, id);
  if (kind === 'move') await moveListing(database, id, aisle);
  if (kind === 'return') await restoreListing(database, id);
  return id;
}

it('a walk while everything moves never shows a row twice, never more rows than its first page counted, and all that stood still', async () => {
  const { database, drop } = await createTestDatabase();
  try {
    const market = marketContext({ database, clock: settableClock(Date.UTC(2026, 0, 6)) });
    await fc.assert(
      fc.asyncProperty(plan, async ({ start, limit, aisle, acts }) => {
        const merchant = await seedMerchant(database);
        await hideAllListings(database);
        const ids: bigint[] = [];
        for (const given of start) ids.push((await seedListing(database, merchant.id, given)).id);
        const filter = aisle === undefined ? {} : { aisle };
        const due = new Set(
          start.flatMap((given, at) => (aisle === undefined || given.aisle === aisle ? [Number(ids[at])] : [])),
        );
        const entered = new Set<number>();
        const rest = [...acts];
        const { pages, ids: seen } = await walkShelves(market, { ...filter, limit: String(limit) }, async () => {
          for (const one of rest.shift() ?? []) {
            const touched = await perform(database, merchant.id, ids, one);
            // Without a filter, moving to another aisle does not move the row.
            if (touched === null || (one.kind === 'move' && aisle === undefined)) continue;
            due.delete(Number(touched));
            if (one.kind === 'move' || one.kind === 'return') entered.add(Number(touched));
          }
        });
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen.length).toBeLessThanOrEqual(pages[0]?.total ?? 0);
        // A row that enters the filter meanwhile may displace the last one.
        if (entered.size === 0) expect(seen).toEqual(expect.arrayContaining([...due]));
        for (const page of pages) expect(page.returned).toBe(page.listings.length);
      }),
      { numRuns: rotatedRounds(import.meta.filename, 150), seed: 20_260_105 + rotationPart() },
    );
  } finally {
    await drop();
  }
});
