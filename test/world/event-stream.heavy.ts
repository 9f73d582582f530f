import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Member, startWorld, type World } from '../support/market-world.ts';
import { openSocket } from '../support/sample-server.ts';
import { seedListing } from '../support/seed.ts';

const WRITERS = 12;
const ACTS_EACH = 15;
const GUESTS = 30;

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

const idsIn = (text: string): number[] => [...text.matchAll(/^id: (\d+)\nevent: sale\n/gm)].map(([, id]) => Number(id));

async function listen(last: number): Promise<{ ids(): number[]; destroy(): void; closed(): boolean; heard(): string }> {
  const request = `GET /api/events/stream?kind=sale HTTP/1.1\r\nHost: x\r\nLast-Event-ID: ${last}\r\n\r\n`;
  const client = await openSocket(Number(new URL(world.url).port), request);
  return { ...client, ids: () => idsIn(client.heard()), destroy: () => client.socket.destroy() };
}

it('listeners who are cut off again and again, while others buy, hear every sale once and in order', async () => {
  const goods: bigint[] = [];
  for (let index = 0; index < ACTS_EACH; index += 1) {
    goods.push((await seedListing(world.db.database, seller.id, { priceUnits: 0n })).id);
  }
  let writing = true;
  const buy = async (writer: Member): Promise<void> => {
    for (const id of goods) expect((await world.buy(id, { key: writer.key })).status).toBe(200);
  };
  const bought = Promise.all(writers.map(buy)).then(() => {
    writing = false;
  });
  const total = WRITERS * ACTS_EACH;
  let cuts = 0;
  const hear = async (patience: number): Promise<number[]> => {
    const ids: number[] = [];
    while (ids.length < total) {
      const client = await listen(ids.at(-1) ?? 0);
      const wanted = Math.min(total, ids.length + patience);
      await expect
        .poll(() => ids.length + client.ids().length, { interval: 5, timeout: 30_000 })
        .toBeGreaterThanOrEqual(wanted);
      ids.push(...client.ids());
      client.destroy();
      if (writing) cuts += 1;
    }
    return ids;
  };
  const heard = await Promise.all(Array.from({ length: GUESTS }, (_, index) => hear(1 + index)));
  await bought;
  const all = Array.from({ length: total }, (_, index) => index + 1);
  for (const ids of heard) expect(ids).toEqual(all);
  expect(cuts).toBeGreaterThan(GUESTS);
});

it('a market that stops tells all who listen, and waits for none', async () => {
  const clients = await Promise.all(Array.from({ length: 20 }, () => listen(0)));
  await expect.poll(() => clients.every(({ ids }) => ids().length === WRITERS * ACTS_EACH)).toBe(true);
  const begun = performance.now();
  await world.running.stop({ drainMs: 20_000 });
  expect(performance.now() - begun).toBeLessThan(10_000);
  await expect.poll(() => clients.every(({ closed }) => closed())).toBe(true);
  for (const { heard } of clients) expect(heard()).toContain('\n\n: the market is stopping');
});
