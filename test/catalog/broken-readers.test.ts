import { beforeAll, expect, it } from 'vitest';
import { createReadFromMemory } from '../../src/market/operations.ts';
import { testDatabase } from '../support/database.ts';
import { listenSample, openSocket } from '../support/sample-server.ts';
import { seedStock } from '../support/seed.ts';
import { openStage, processOn, type Stage } from './stage.ts';

const db = testDatabase();
let stage: Stage;
beforeAll(async () => {
  stage = await openStage(db.database);
});

/** Enough pages to exceed the buffers at both ends of a connection. */
const PAGES = 120;
const READERS = 12;

it('pages that clients never read to their end give their memory back', async () => {
  const description = 'lamp '.repeat(300);
  const goods = Array.from({ length: 60 }, (_, at) => ({ title: `Lamp ${at}`, description }));
  await seedStock(db.database, stage.sellers[0] ?? 0n, goods);
  const market = processOn(db.database);
  await market.catalog.fresh();
  await market.catalog.searchable();
  const { buffers } = market.catalog.model().pages;
  const { port, server } = await listenSample({ fromMemory: createReadFromMemory(market, { leastVersion: () => 0 }) });
  // Every reader requests each page once. The first request builds it, and the others get the cached one.
  const asked = Array.from({ length: PAGES }, (_, at) => {
    const target = `/api/shelves?limit=50&max_price_usdc=${1_000 + at}`;
    return `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`;
  });
  const answered = (): number => server.readCounts().reduce((sum, count) => sum + count.answered, 0);
  /** Whether the buffers at both ends are full, so that the page being sent waits for ten checks in a row. */
  const isStuck = async (): Promise<boolean> => {
    for (let looks = 0; looks < 10; looks += 1) {
      if (server.admission().slotsTaken === 0) return false;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return true;
  };
  for (let reader = 0; reader < READERS; reader += 1) {
    const { socket } = await openSocket(port);
    socket.pause();
    let stuck = false;
    // Send them one after the other, because a client that sends three at once loses its connection.
    for (const request of asked) {
      const before = answered();
      socket.write(request);
      await expect.poll(answered, { interval: 1 }).toBe(before + 1);
      stuck = await isStuck();
      if (stuck) break;
    }
    expect(stuck).toBe(true);
    socket.destroy();
  }
  await expect.poll(() => server.admission().slotsTaken).toBe(0);
  await expect
    .poll(() => buffers.usedBytes() - market.catalog.answers.cache.bytes(), { interval: 5 })
    .toBeLessThanOrEqual(0);
  expect(market.catalog.answers.cache.bytes()).toBeGreaterThan(0);
}, 30_000);
