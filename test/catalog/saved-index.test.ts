import { copyFile, mkdtemp, open, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TextFileOptions } from '../../src/market/catalog/feed/keep-text.ts';
import { BLOCK, createBlockReader, createBlockWriter } from '../../src/market/catalog/text/saved/blocks.ts';
import {
  decodeEnd,
  decodeIdentity,
  type EndFacts,
  encodeFacts,
  type Identity,
} from '../../src/market/catalog/text/saved/facts.ts';
import { testDatabase } from '../support/database.ts';
import {
  editListing,
  removeListing,
  restoreListing,
  seedEvent,
  seedStock,
  seedVote,
  withdrawListing,
} from '../support/seed.ts';
import { expectSame } from './same-bytes.ts';
import { openStage, processOn, type Stage } from './stage.ts';

const db = testDatabase({ inventedEvents: true });
const signal = new AbortController().signal;
let stage: Stage;
let ids: bigint[];
let folder: string;
const started: ReturnType<typeof processOn>[] = [];

beforeAll(async () => {
  stage = await openStage(db.database);
  const stock = Array.from({ length: 400 }, (_, at) => ({
    title: `Goods ${at}`,
    description: at % 2 ? 'lamp of brass' : 'map of the café',
    tags: at % 3 ? ['sea-map', 'lamp'] : [],
  }));
  ids = await seedStock(db.database, stage.sellers[0] ?? 0n, stock);
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-search-'));
});
afterEach(async () => {
  for (const market of started.splice(0)) await market.catalog.stop();
  await rm(folder, { recursive: true, force: true });
});
afterAll(() => {
  expect(started).toEqual([]);
});

const idAt = (at: number): bigint => ids[at] ?? 0n;
const file = (): string => join(folder, 'index');
const SEARCHES = [
  'map',
  'lamp',
  'atlas',
  'brass',
  'goods 7',
  'zinc',
  'tin',
  'lammp ',
  '"of the cafe"',
  'goods -lamp&sort=new',
].map((q) => `/api/shelves?limit=50&q=${q}`);

/** Starts a market's catalog and waits until search is ready and the index was looked at for saving. */
async function openMarket(options: Partial<TextFileOptions> = {}): Promise<ReturnType<typeof processOn>> {
  const market = processOn(db.database, { textFile: { folder, leastListings: 1, ...options } });
  started.push(market);
  await market.catalog.start();
  await market.catalog.searchable();
  return market;
}

async function stop(market: ReturnType<typeof processOn>): Promise<void> {
  started.splice(started.indexOf(market), 1);
  await market.catalog.stop();
}

/** Starts, saves and stops, so that there is a file of the listings as they are. */
async function saveOnce(): Promise<void> {
  const market = await openMarket();
  await market.logged('search_index_saved');
  await stop(market);
}

type Market = ReturnType<typeof processOn>;
const events = ({ lines }: Market): string[] =>
  lines.map(({ event }) => event).filter((event) => event.startsWith('search_index'));
const warnings = ({ lines }: Market): string[] =>
  lines.filter(({ level }) => level !== 'info').map(({ event, fields }) => `${event}: ${fields['why'] ?? ''}`);

async function expectRight(market: Market): Promise<void> {
  await expectSame(market, processOn(db.database), SEARCHES);
  const { model } = market.catalog;
  expect(model().text.listings()).toBe(model().live.count);
}

/** Replaces the facts at the beginning and at the end of the file. */
async function changeFacts(changed: Partial<Identity & EndFacts>): Promise<void> {
  const source = await open(file(), 'r');
  const target = await open(`${file()}.changed`, 'w');
  const [reader, writer] = [await createBlockReader(source), createBlockWriter(target, signal)];
  for (let kind = 0; kind !== BLOCK.end; ) {
    const block = await reader.next();
    kind = block.kind;
    const { first, second } = block;
    const facts =
      kind === BLOCK.identity
        ? encodeFacts({ ...decodeIdentity(first), ...changed })
        : kind === BLOCK.end
          ? encodeFacts({ ...decodeEnd(first), ...changed })
          : first;
    await writer.write(kind as (typeof BLOCK)['end'], facts, second);
  }
  await source.close();
  await target.close();
  await writeFile(file(), await readFile(`${file()}.changed`));
}

describe('a start with a saved index', () => {
  it('searches what was saved, in which nobody else may look', async () => {
    await saveOnce();
    expect((await stat(file())).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['index']);
    const market = await openMarket();
    expect(events(market)).toEqual(['search_index_loaded']);
    expect(warnings(market)).toEqual([]);
    await expectRight(market);
    await stop(market);
    // The index is not saved again, because no listing changed.
    expect(events(market)).toEqual(['search_index_loaded']);
  });

  it('takes in what changed while no process ran, and what changes from then on', async () => {
    await removeListing(db.database, idAt(20));
    await withdrawListing(db.database, idAt(21));
    await saveOnce();
    await editListing(db.database, idAt(1), { title: 'Atlas of before' });
    await editListing(db.database, idAt(2), { description: 'zinc' });
    await withdrawListing(db.database, idAt(3));
    await removeListing(db.database, idAt(4));
    await removeListing(db.database, idAt(5));
    await restoreListing(db.database, idAt(5));
    await restoreListing(db.database, idAt(20));
    await editListing(db.database, idAt(6), { title: 'Zinc atlas' });
    await withdrawListing(db.database, idAt(6));
    await seedVote(db.database, idAt(7), stage.voters[0] ?? 0n);
    await seedStock(db.database, stage.sellers[1] ?? 0n, [{ title: 'Zinc lamp' }, { title: 'Brass atlas' }]);
    const market = await openMarket();
    expect(events(market)).toEqual(['search_index_loaded']);
    await expectRight(market);
    await editListing(db.database, idAt(8), { title: 'Atlas of zinc' });
    await removeListing(db.database, idAt(2));
    await seedStock(db.database, stage.sellers[1] ?? 0n, [{ title: 'Zinc map' }]);
    await expectRight(market);
    await stop(market);
    expect(events(market)).toEqual(['search_index_loaded', 'search_index_saved']);
    const next = await openMarket();
    expect(events(next)).toEqual(['search_index_loaded']);
    await expectRight(next);
  });

  it('reads most listings anew when most have changed', async () => {
    await saveOnce();
    await db.database.run(sql`update listings set description = 'tin ' || description where id > 100`);
    const market = await openMarket();
    expect(events(market)[0]).toBe('search_index_loaded');
    await expectRight(market);
  });
});

describe('a file that does not fit', () => {
  const rebuilt = async (why: string): Promise<void> => {
    const market = await openMarket();
    expect(warnings(market)).toEqual([`search_index_ignored: ${why}`]);
    await expectRight(market);
    await market.logged('search_index_saved');
    await stop(market);
    const next = await openMarket();
    expect(events(next)).toEqual(['search_index_loaded']);
  };

  it.each([
    ['of another version', { format: 0 }, 'another version of the market saved it'],
    ['of other character tables', { unicode: '1.0' }, 'another version of the market saved it'],
    ['of another server', { system: '1' }, 'it is of another database server'],
    ['of another database', { server: '00000001 1' }, 'it is of another database, or of another timeline of this one'],
    ['of a later state', { lastRevision: 1_000_000 }, 'the database does not continue what it shows'],
    ['of another history', { anchor: { event: '1', hash: '00' } }, 'the database does not continue what it shows'],
  ])('%s is ignored with one warning', async (_, changed, why) => {
    await saveOnce();
    await changeFacts(changed);
    await rebuilt(why);
  });

  it('of another timeline is ignored with one warning', async () => {
    await saveOnce();
    const handle = await open(file(), 'r');
    const { server } = decodeIdentity((await (await createBlockReader(handle)).next()).first);
    await handle.close();
    await changeFacts({ server: server.replace(/^\w{8}/, '0000ffff') });
    await rebuilt('it is of another database, or of another timeline of this one');
  });

  it('is ignored with one warning where it is damaged', async () => {
    await saveOnce();
    const whole = await readFile(file());
    for (const at of [0, 40, whole.length >> 1, whole.length - 5]) {
      for (const bytes of [whole.subarray(0, at), Buffer.from(whole).fill((whole[at] ?? 0) ^ 4, at, at + 1)]) {
        await writeFile(file(), bytes);
        const market = await openMarket();
        expect(warnings(market).map((line) => line.split(':')[0])).toEqual(['search_index_ignored']);
        await expectRight(market);
        await stop(market);
      }
    }
  });
});

describe('a save', () => {
  it('notes the last event, without which the database is another one', async () => {
    await seedEvent(db.database, 'sale', { listing_id: 1 });
    await saveOnce();
    const handle = await open(file(), 'r');
    const reader = await createBlockReader(handle);
    let block = await reader.next();
    while (block.kind !== BLOCK.end) block = await reader.next();
    await handle.close();
    const { anchor } = decodeEnd(block.first);
    expect(anchor?.hash).toMatch(/^[0-9a-f]{64}$/);
    await changeFacts({ anchor: { event: anchor?.event ?? '', hash: 'ff'.repeat(32) } });
    expect(warnings(await openMarket())).toEqual([
      'search_index_ignored: the database does not continue what it shows',
    ]);
  });

  it('is of one process where two share the folder, and both see a whole file', async () => {
    const [one, other] = await Promise.all([openMarket(), openMarket()]);
    await expect
      .poll(() =>
        stat(file()).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    await Promise.all([stop(one), stop(other)]);
    const saves = [...events(one), ...events(other)].filter((event) => event === 'search_index_saved');
    expect(saves).toHaveLength(1);
    expect([...warnings(one), ...warnings(other)]).toEqual([]);
    const next = await openMarket();
    expect(events(next)).toEqual(['search_index_loaded']);
    await expectRight(next);
  });

  it('while listings change says of each what it was made of', async () => {
    const words = ['zinc', 'atlas', 'tin', 'brass'];
    for (let round = 0; round < 6; round += 1) {
      // Enough listings have changed for the index to be saved again.
      await db.database.run(sql`
        update listings set title = ${`Round ${round}`} where id >= ${idAt(300)} and id < ${idAt(320)}`);
      const market = processOn(db.database, { textFile: { folder, leastListings: 1 } });
      started.push(market);
      await market.catalog.start();
      for (let change = 0; change < 8; change += 1) {
        const at = 100 + ((round * 37 + change * 11) % 200);
        await editListing(db.database, idAt(at), { title: `Edited ${words[(round + change) % words.length]}` });
        await market.catalog.fresh();
      }
      await market.logged('search_index_saved');
      const copy = await mkdtemp(join(tmpdir(), 'openaisle-copy-'));
      await copyFile(file(), join(copy, 'index'));
      const next = await openMarket({ folder: copy });
      expect(events(next)[0]).toBe('search_index_loaded');
      await expectRight(next);
      await stop(next);
      await stop(market);
      await rm(copy, { recursive: true });
    }
  });

  it('that the disk refuses is one warning, and the market goes on', async () => {
    const market = processOn(db.database, { textFile: { folder, leastListings: 1 } });
    started.push(market);
    await market.catalog.fresh();
    await symlink('/dev/full', join(folder, 'index.new'));
    await market.catalog.start();
    await market.logged('search_index_not_saved');
    await expectRight(market);
    expect(warnings(market)).toEqual(['search_index_not_saved: ']);
    expect(await readdir(folder)).toEqual([]);
    // The failed save has removed what leads to the full disk.
    await stop(market);
    expect(events(market)).toEqual(['search_index_not_saved', 'search_index_saved', 'search_index_saved_again']);
    expect(await readdir(folder)).toEqual(['index']);
  });

  it('into a folder that cannot be made is one warning, and the market goes on', async () => {
    await writeFile(join(folder, 'blocked'), '');
    const market = await openMarket({ folder: join(folder, 'blocked', 'search') });
    await market.logged('search_index_not_saved');
    await expectRight(market);
  });

  it('leaves nothing of one that was killed', async () => {
    await writeFile(join(folder, 'index.new'), 'half');
    await saveOnce();
    expect(await readdir(folder)).toEqual(['index']);
  });

  it('does not hold up a stop beyond its limit', async () => {
    // The save waits for the number of this event, which nobody gives.
    await db.database.run(
      sql`insert into events (kind, at, canonical, in_door, in_window) values ('sale', now(), '{}', false, false)`,
    );
    const market = await openMarket({ stopWithinMs: 50 });
    const begin = performance.now();
    await stop(market);
    expect(performance.now() - begin).toBeLessThan(2_000);
    expect(await readdir(folder)).not.toContain('index');
  });
});
