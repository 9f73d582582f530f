import fc from 'fast-check';
import { it } from 'vitest';
import type { Database } from '../../src/platform/database/database.ts';
import { rotatedRounds, rotationPart } from '../suite/rotation.ts';
import { testDatabase } from '../support/database.ts';
import { settableClock, type TestMarket } from '../support/market-context.ts';
import { hideAllListings, seedEvent, seedStock } from '../support/seed.ts';
import { askOperation, fromMemory } from './ask.ts';
import { addressOf, asSent, change, goods, query } from './random-shelves.ts';
import { addressesOf, expectSame } from './same-bytes.ts';
import { openStage, perform, processOn, type Stage } from './stage.ts';

const db = testDatabase({ inventedEvents: true });
const clock = settableClock(Date.UTC(2026, 0, 6));

const plan = fc.record({
  stock: fc.array(goods, { minLength: 1, maxLength: 10, size: 'max' }),
  batches: fc.array(fc.array(change, { minLength: 1, maxLength: 12, size: 'max' }), {
    minLength: 1,
    maxLength: 3,
    size: 'max',
  }),
  queries: fc.array(fc.tuple(query, fc.integer({ min: 1, max: 5 }), fc.boolean()), {
    minLength: 12,
    maxLength: 12,
    size: 'max',
  }),
});

/** Returns the addresses of the next pages. Their cursors were made before a change. */
async function nextPages(market: TestMarket, addresses: readonly string[]): Promise<string[]> {
  const next: string[] = [];
  for (const address of addresses) {
    const cursor = JSON.parse((await askOperation(market, address)).text).next_cursor;
    if (cursor !== null) next.push(`${address}&cursor=${cursor}`);
  }
  return next;
}

async function begin(database: Database, stage: Stage, stock: Parameters<typeof seedStock>[2]): Promise<bigint[]> {
  await hideAllListings(database);
  return seedStock(database, stage.sellers[0] ?? 0n, stock);
}

it('a copy that followed every change and one that was just read give the same bytes and tags, quickly or not', async () => {
  const { database } = db;
  const stage = await openStage(database);
  const old = processOn(database, { clock });
  await fc.assert(
    fc.asyncProperty(plan, async ({ stock, batches, queries }) => {
      const ids = await begin(database, stage, stock);
      const asked = queries.map(([given, limit, outline]) =>
        addressOf({ ...asSent(given), limit: String(limit), ...(outline ? { fields: 'outline' } : {}) }),
      );
      await old.catalog.fresh();
      await old.catalog.searchable();
      for (const batch of batches) {
        const next = await nextPages(old, asked.slice(4));
        for (const one of batch) await perform(stage, ids, one);
        await seedEvent(database, 'sale', { listing_id: 1 });
        // Warm the cache, so that some answers were cached before the change.
        for (const address of asked.slice(0, 4)) fromMemory(old, address);
        await expectSame(old, processOn(database, { clock }), addressesOf(ids, [...asked, ...next]));
      }
    }),
    {
      numRuns: rotatedRounds(import.meta.filename, 15),
      seed: Number(process.env['WALK_SEED'] ?? 20_260_108 + rotationPart()),
    },
  );
}, 120_000);
