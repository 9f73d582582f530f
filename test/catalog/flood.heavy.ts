import sql from 'sql-template-tag';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Model } from '../../src/market/catalog/model/model.ts';
import { yieldToEventLoop } from '../../src/platform/clock.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { testDatabase } from '../support/database.ts';
import { onServer } from '../support/run-postgres.ts';
import { seedMerchant, seedStock } from '../support/seed.ts';
import { addressesOf, expectSame } from './same-bytes.ts';
import { processOn } from './stage.ts';

/** Fills eight batches of a step. */
const MANY = 2_000;
/** Fills more than one batch. */
const MERCHANTS = 300;

const db = testDatabase();
let ids: bigint[];
beforeAll(async () => {
  const seller = (await seedMerchant(db.database)).id;
  const stock = Array.from({ length: MANY }, (_, at) => ({ title: `Lamp ${at}`, description: 'brass' }));
  ids = await seedStock(db.database, seller, stock);
});

const newestRevision = async (): Promise<number> =>
  Number((await db.database.one<{ revision: bigint }>(sql`select last_act as revision from catalog_state`)).revision);

/** Edits every listing once, out of id order, and adds merchants, which are read first. */
async function flood(word: string): Promise<void> {
  await onServer(
    db.url,
    `do $$ declare one bigint; begin
      for one in select id from listings order by md5(id::text) loop
        update listings set title = '${word} ' || one where id = one;
      end loop;
    end $$;
    insert into merchants (id, handle, handle_skeleton, model, client_class, joined_at)
    select (select max(id) from merchants) + n, '${word}-' || n, '${word}-' || n, 'a model', 'coding_persistent', now()
    from generate_series(1, ${MERCHANTS}) n`,
  );
}

/** Something that happens in the middle of a step, before a given batch of listings is read. */
interface Interruption {
  after: number;
  act(pid: number): Promise<void> | void;
}

/** Opens the same database through separate connections and interrupts a step that runs on them. */
async function ownDatabase(interruption: Interruption): Promise<Database> {
  const own = await openDatabase({
    url: db.url,
    poolSize: 2,
    applicationName: 'openaisle-follower',
    allowUnsafe: true,
  });
  onTestFinished(() => own.close());
  return {
    ...own,
    transaction: (act, options) =>
      own.transaction(
        (tx) =>
          act({
            ...tx,
            rows: async (query) => {
              if (query.sql.includes('where l.id = any(')) interruption.after -= 1;
              if (interruption.after < 0) {
                interruption.after = Number.POSITIVE_INFINITY;
                await interruption.act((await tx.one<{ pid: number }>(sql`select pg_backend_pid() as pid`)).pid);
              }
              return tx.rows(query);
            },
          }),
        options,
      ),
  };
}

it('a flood is taken in by portions that give way to requests, edits in the order of their acts, and whole', async () => {
  const process = processOn(db.database);
  await process.catalog.fresh();
  await process.catalog.searchable();
  const before = await newestRevision();
  await flood('atlas');
  const model = process.catalog.model();
  const { columns } = model;
  let isDone = false;
  const taking = process.catalog.fresh().finally(() => {
    isDone = true;
  });
  const seen = new Set<number>();
  while (!isDone) {
    const known = ids.filter((id) => (columns.editedRevision[Number(id)] ?? 0) > before).length;
    // Each edit has a number. The model must contain every edit up to its newest number.
    expect(model.editRevision === 0 ? 0 : model.editRevision - before).toBe(known);
    if (known > 0) expect(model.merchantCount).toBeGreaterThan(MERCHANTS);
    seen.add(known);
    await yieldToEventLoop();
  }
  await taking;
  expect(seen.size).toBeGreaterThan(6);
  expect(process.lines.filter(({ event }) => event === 'catalog_loaded')).toHaveLength(1);
  await expectSame(process, processOn(db.database), addressesOf(ids, ['/api/shelves?q=atlas', '/api/shelves?q=lamp']));
});

it('a flood that is cut off in the middle is taken in again, without reading everything', async () => {
  const cut = {
    after: Number.POSITIVE_INFINITY,
    act: (pid: number) => onServer(db.url, `select pg_terminate_backend(${pid})`),
  };
  const process = processOn(await ownDatabase(cut));
  await process.catalog.fresh();
  await process.catalog.searchable();
  const before = await newestRevision();
  await flood('globe');
  cut.after = 4;
  await expect(process.catalog.fresh()).rejects.toThrow();
  const model = process.catalog.model();
  expectPart(model, before);
  await expectSame(process, processOn(db.database), addressesOf(ids, ['/api/shelves?q=globe', '/api/shelves?q=atlas']));
  expect(process.lines.filter(({ event }) => event === 'catalog_loaded')).toHaveLength(1);
  expect(process.catalog.model()).toBe(model);
});

it('a stop does not wait for the end of a flood', async () => {
  let stopped: Promise<void> | null = null;
  const stop = {
    after: Number.POSITIVE_INFINITY,
    act: () => {
      stopped = process.catalog.stop();
    },
  };
  const process = processOn(await ownDatabase(stop));
  await process.catalog.fresh();
  const before = await newestRevision();
  await flood('chart');
  stop.after = 4;
  await process.catalog.fresh();
  await stopped;
  expectPart(process.catalog.model(), before);
});

function expectPart({ columns }: Model, before: number): void {
  const known = ids.filter((id) => (columns.editedRevision[Number(id)] ?? 0) > before).length;
  expect(known).toBeGreaterThan(0);
  expect(known).toBeLessThan(MANY);
}
