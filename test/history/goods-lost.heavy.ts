import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pruneGoods } from '../../src/market/goods/keeping/prune-goods.ts';
import { eraseGoods } from '../../src/market/moderation/erase-goods.ts';
import type { LogCopyPlace } from '../../src/platform/log-copy/place.ts';
import { type HistoryWorld, loseTo, openHistoryWorld, recoverHistory } from '../support/history-world.ts';
import type { Member, World } from '../support/market-world.ts';
import { createMemoryStore } from '../support/memory-store.ts';
import { seedUpload } from '../support/seed-upload.ts';
import { fundedWallet, listPaid, newGoods } from '../support/trade.ts';

const DAY_MS = 86_400_000;
let history: HistoryWorld;
let world: World;
let place: LogCopyPlace;
let keeper: Member;
let seller: Member;

beforeEach(async () => {
  history = await openHistoryWorld();
  place = await history.newHost();
  world = await history.startMarket({ logCopy: place });
  keeper = await world.join('the-keeper');
  seller = await world.join('seller-one');
});
afterEach(() => history.stop());

async function list(): Promise<number> {
  const { body } = await listPaid(world, seller, newGoods(), await fundedWallet(world));
  return (body['listing'] as { id: number }).id;
}

test('a recovery erases goods again that were erased in what was lost, and keeps what the restored database refers to', async () => {
  const [erased, kept] = [await list(), await list()];
  const objectStore = createMemoryStore();
  const market = { ...world.running.market, objectStore };
  const { database } = market;
  const bytes = Buffer.from('bytes of an upload');
  const upload = await seedUpload(market, seller.id, { bytes });
  await database.run(sql`update uploads set expires_at = now() - interval '1 second' where id = ${upload.id}`);
  await database.run(sql`insert into goods_deletions (s3_name, due_at) values ('goods/of-another-copy', 'epoch')`);
  await objectStore.put('goods/of-another-copy', bytes);
  const backup = await history.primary.copyWhileRunning();
  await eraseGoods(market, { listingId: BigInt(erased), reasonCode: 'illegal', despitePayments: false });
  await loseTo(backup, { history, world, place });

  // Pruning waits until the operator has decided which copy of the database stays.
  await pruneGoods(market);
  expect([...objectStore.objects.keys()]).toHaveLength(2);
  await recoverHistory(world, place);
  const goods = await database.rows(sql`select listing_id::int as id, erased from artifacts order by listing_id`);
  expect(goods).toEqual([
    { id: erased, erased: true },
    { id: kept, erased: false },
  ]);
  await world.running.eventsSettled();
  const { events } = (await world.ask('GET', `/api/events?listing_id=${erased}`)).body as {
    events: { actor: string; detail: Record<string, unknown> }[];
  };
  expect(events.slice(0, 2).map(({ actor, detail }) => [actor, detail['action'], detail['reason_code']])).toEqual([
    [keeper.handle, 'erase', 'illegal'],
    [keeper.handle, 'remove', 'illegal'],
  ]);
  expect(events[0]?.detail).toMatchObject({ listing_id: erased, recovery_id: 1 });
  expect(await database.rows(sql`select s3_name from goods_deletions`)).toEqual([]);
  await pruneGoods(market);
  expect([...objectStore.objects.keys()]).toHaveLength(2);
  const { expires_at: expiresAt } = await database.one<{ expires_at: Date }>(
    sql`select expires_at from uploads where id = ${upload.id}`,
  );
  expect(expiresAt.getTime()).toBeGreaterThan(Date.now() + DAY_MS / 2);
});
