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
  }).join('');
  for (let reader = 0; reader < READERS; reader += 1) {
    const client = await openSocket(port, asked);
    await expect.poll(() => client.heard().length, { interval: 2 }).toBeGreaterThan(1_000);
    client.socket.pause();
    // The buffers at both ends are full, so the page being sent waits from poll to poll.
    let looks = 0;
    const look = (): number => {
      looks = server.admission().placesTaken === 1 ? looks + 1 : 0;
      return looks;
    };
    await expect.poll(look, { interval: 5 }).toBeGreaterThan(10);
    client.socket.destroy();
  }
  await expect.poll(() => server.admission().placesTaken).toBe(0);
  await expect
    .poll(() => buffers.usedBytes() - market.catalog.answers.cache.bytes(), { interval: 5 })
    .toBeLessThanOrEqual(0);
  expect(market.catalog.answers.cache.bytes()).toBeGreaterThan(0);
}, 30_000);
