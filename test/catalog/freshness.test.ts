import { beforeAll, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { testDatabase } from '../support/database.ts';
import { editListing, seedStock, seedVote, withdrawListing } from '../support/seed.ts';
import { fromMemory } from './ask.ts';
import { openStage, processOn, type Stage } from './stage.ts';

const db = testDatabase();
const PROMISED_MS = 250;
const CHANGES = 12;

/** Adds up the pauses that a process has ended. Unlike the time that passes, they do not grow on a busy machine. */
function countPauses(): { clock: Clock; totalMs(): number } {
  let totalMs = 0;
  const sleep: Clock['sleep'] = async (ms, signal) => {
    await systemClock.sleep(ms, signal);
    totalMs += ms;
  };
  return { clock: { ...systemClock, sleep }, totalMs: () => totalMs };
}

let stage: Stage;
beforeAll(async () => {
  stage = await openStage(db.database);
});

it.each([
  ['', 0],
  [', also while much is read and steps are held back', 400],
])('a process pauses for no more than 250 ms before it shows what another connection committed%s', async (_, pages) => {
  const ids = await seedStock(db.database, stage.sellers[0] ?? 0n, [{ title: 'One' }, { title: 'Two' }]);
  const [first = 0n, second = 0n] = ids;
  const own = await openDatabase({ url: db.url, poolSize: 2, allowUnsafe: true });
  const pauses = countPauses();
  const market = processOn(own, { clock: pauses.clock });
  await market.catalog.start();
  const waits: number[] = [];
  const crowd = readOnAndOn(market, pages);
  try {
    for (let count = 0; count < CHANGES; count += 1) {
      const shown = await change(count);
      const committedAt = pauses.totalMs();
      while (!shown()) {
        if (pauses.totalMs() - committedAt > 10 * PROMISED_MS) throw new Error(`change ${count} is not shown`);
        await systemClock.sleep(1);
      }
      waits.push(pauses.totalMs() - committedAt);
    }
  } finally {
    await crowd.stop();
    await market.catalog.stop();
    await own.close();
  }
  // This number of pages within two or three seconds is enough to simulate a crowd.
  expect(market.catalog.answers.pagesMade()).toBeGreaterThanOrEqual(pages * CHANGES * 0.8);
  expect(Math.max(...waits), `paused for ${waits.join(', ')} ms`).toBeLessThanOrEqual(PROMISED_MS);

  /** Commits a change and returns a check that sees it. */
  async function change(count: number): Promise<() => boolean> {
    const said = (address: string): string => fromMemory(market, address)?.text ?? '';
    if (count === CHANGES - 1) {
      await withdrawListing(db.database, second);
      return () => said(`/api/listing/${second}`).includes('"state":"withdrawn"');
    }
    if (count % 3 === 0) {
      const [id] = await seedStock(db.database, stage.sellers[1] ?? 0n, [{ title: `Added ${count}` }]);
      return () => said('/api/shelves').includes(`{"id":${id},`);
    }
    if (count % 3 === 1) {
      await editListing(db.database, first, { title: `Changed ${first} ${count}` });
      return () => said('/api/shelves?sort=price_asc').includes(`"Changed ${first} ${count}"`);
    }
    await seedVote(db.database, first, stage.voters[(count - 2) / 3] ?? 0n);
    return () => said(`/api/listing/${first}`).includes(`"votes":${(count - 2) / 3 + 1},`);
  }
});

function readOnAndOn(market: ReturnType<typeof processOn>, pages: number): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted && pages > 0) {
      for (let page = 1; page <= pages; page += 1) fromMemory(market, `/api/shelves?max_price_usdc=${page}`);
      await systemClock.sleep(1);
    }
  };
  const running = run();
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

it('the process that committed has it in its own copy as soon as it asks for what is fresh', async () => {
  const market = processOn(db.database);
  await market.catalog.fresh();
  const stage = market.catalog.model().merchantOfHandle.get('red-atlas');
  for (let count = 0; count < 20; count += 1) {
    const [id] = await seedStock(db.database, BigInt(stage?.id ?? 0), [{ title: `Own ${count}` }]);
    // Request another pass, because one that is already running may have begun before the commit.
    void market.catalog.fresh();
    await market.catalog.fresh();
    expect(fromMemory(market, `/api/listing/${id}`)?.text).toContain(`"Own ${count}"`);
  }
});
