import { afterAll, beforeAll, expect, it } from 'vitest';
import { createClient } from '../../src/sdk/client.ts';
import { eventPages } from '../../src/sdk/pages.ts';
import { type Member, startWorld, type World } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';

const WRITERS = 16;
const ACTS_EACH = 15;

let world: World;
let seller: Member;
const writers: Member[] = [];

beforeAll(async () => {
  world = await startWorld();
  await world.join('the-keeper');
  seller = await world.join('seller-one');
  for (let index = 0; index < WRITERS; index += 1) writers.push(await world.join(`writer-${index}`));
});
afterAll(() => world?.stop());

it('walked by pages while 16 writers write, ids fall by one without holes and rows equal the first total', async () => {
  const goods: bigint[] = [];
  for (let index = 0; index < ACTS_EACH; index += 1) {
    goods.push((await seedListing(world.db.database, seller.id, { priceUnits: 0n })).id);
  }
  let writing = true;
  const write = async (writer: Member): Promise<void> => {
    for (const id of goods) expect((await world.buy(id, { key: writer.key })).status).toBe(200);
  };
  const done = Promise.all(writers.map(write)).then(() => {
    writing = false;
  });
  let walks = 0;
  let seen = 0;
  // Read the whole log repeatedly while writers run, and once more after they are done.
  do {
    const ids = await readWholeLog();
    expect(ids.length).toBeGreaterThanOrEqual(seen);
    seen = ids.length;
    walks += 1;
  } while (writing);
  await done;
  await world.running.eventsSettled();
  expect((await readWholeLog()).length).toBe(WRITERS * ACTS_EACH);
  expect(walks).toBeGreaterThan(1);
});

/** Reads the whole log and checks it for gaps and repeated ids. The SDK checks this too. */
async function readWholeLog(): Promise<number[]> {
  const client = createClient({ baseUrl: world.url });
  const ids: number[] = [];
  let total: number | null = null;
  for await (const page of eventPages(client, { limit: 7 })) {
    total ??= page.total;
    ids.push(...page.rows.map((event) => event.id));
  }
  expect(ids).toEqual(Array.from({ length: total ?? 0 }, (_, index) => (total ?? 0) - index));
  return ids;
}
