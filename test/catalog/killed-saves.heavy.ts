import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { yieldToEventLoop } from '../../src/platform/clock.ts';
import { testDatabase } from '../support/database.ts';
import { type MainProcess, mainProcesses } from '../support/main-process.ts';
import { seedMerchant, seedStock } from '../support/seed.ts';

const db = testDatabase();
const { folder, onGivenDatabase, start } = mainProcesses(db);

const LISTINGS = 12_000;
/** More than the share of listings after which the index is saved again. */
const CHANGED = 240;
const ROUNDS = 10;

let ids: bigint[];
beforeAll(async () => {
  const seller = (await seedMerchant(db.database)).id;
  const stock = Array.from({ length: LISTINGS }, (_, at) => ({
    title: `Goods ${at} round0word`,
    tags: [`tag-${at % 90}`],
  }));
  ids = await seedStock(db.database, seller, stock);
});

const sizeOf = (name: string): Promise<number> =>
  stat(join(folder(), 'search', name)).then(
    ({ size }) => size,
    () => -1,
  );

async function end(market: MainProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const exited = once(market.child, 'exit');
  market.child.kill(signal);
  await exited;
}

/** Kills the market once so many bytes of the new file are written, or once the file has its name. */
async function killAtSize(market: MainProcess, bytes: number): Promise<'unfinished' | 'finished'> {
  const isSaved = (): boolean => market.lines('search_index_saved').length > 0;
  while ((await sizeOf('index.new')) < bytes && !isSaved()) await yieldToEventLoop();
  await end(market, 'SIGKILL');
  return (await sizeOf('index.new')) >= 0 ? 'unfinished' : 'finished';
}

async function expectRight(market: MainProcess, round: number): Promise<void> {
  await market.logged('catalog_searchable');
  for (let word = 0; word <= round; word += 1) {
    const { count } = await db.database.one<{ count: number }>(sql`
      select count(*)::int4 as count from listings where state = 'live' and title like ${`%round${word}word%`}`);
    const answer = await fetch(`${market.url}/api/shelves?limit=1&q=round${word}word`, {
      headers: { accept: 'application/json' },
    });
    expect(await answer.json(), `round ${word}`).toMatchObject({ total: count });
  }
  expect(market.said.filter((line) => line.includes('search_index_ignored'))).toEqual([]);
}

it('a market that is killed while it saves its text index searches rightly after the next start', async () => {
  const env = await onGivenDatabase();
  const first = start(env);
  await first.logged('market_listening');
  await first.logged('search_index_saved');
  await end(first, 'SIGKILL');
  const whole = await sizeOf('index');
  const kills: string[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const from = ids[(round * 1_009) % (LISTINGS - CHANGED)] ?? 0n;
    await db.database.run(sql`
      update listings set title = ${`Other goods round${round}word`} where id >= ${from} and id < ${from + BigInt(CHANGED)}`);
    await db.database.run(sql`
      update listings set state = 'withdrawn', withdrawn_at = now(), withdrawn_reason = 'enough' where id = ${from + 1n}`);
    kills.push(await killAtSize(start(env), Math.floor((whole * (round - 1)) / (ROUNDS - 1))));
    const next = start(env);
    await next.logged('market_listening');
    await expectRight(next, round);
    expect(next.lines('search_index_loaded')).toHaveLength(1);
    // After a save that was not finished the changes are still to be saved.
    if (kills.at(-1) === 'unfinished') await next.logged('search_index_saved');
    await end(next, round % 2 === 0 ? 'SIGTERM' : 'SIGKILL');
    expect(await readdir(join(folder(), 'search'))).not.toContain('index.new');
  }
  expect(kills).toContain('unfinished');
}, 240_000);

it('of two workers one saves, and both start with what it saved', async () => {
  const env = await onGivenDatabase({ OPENAISLE_WORKERS: '2' });
  const first = start(env);
  await expect.poll(() => first.lines('catalog_searchable').length, { timeout: 40_000 }).toBe(2);
  await first.logged('search_index_saved');
  await end(first, 'SIGTERM');
  expect(first.lines('search_index_saved')).toHaveLength(1);
  const second = start(env);
  await expect.poll(() => second.lines('catalog_searchable').length, { timeout: 40_000 }).toBe(2);
  expect(second.lines('search_index_loaded')).toHaveLength(2);
  await expectRight(second, 0);
  await end(second, 'SIGTERM');
  expect(second.lines('search_index_saved')).toEqual([]);
  expect(second.said.filter((line) => line.includes('search_index_ignored'))).toEqual([]);
}, 120_000);
