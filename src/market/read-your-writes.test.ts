import sql from 'sql-template-tag';
import { beforeEach, expect, it } from 'vitest';
import { fromMemory } from '../../test/catalog/ask.ts';
import { processOn } from '../../test/catalog/stage.ts';
import { testDatabase } from '../../test/support/database.ts';
import { holdTransactionOpen, untilWaiting } from '../../test/support/listing-life.ts';
import { type SeededMerchant, seedListing, seedMerchant } from '../../test/support/seed.ts';
import { systemClock } from '../platform/clock.ts';
import { noteWrites } from '../platform/database/note-writes.ts';
import { editListing } from './listings/changes/edit-listing.ts';
import { setStoreLine } from './merchants/set-store-line.ts';
import { createReadYourWrites, type ReadYourWrites } from './read-your-writes.ts';

const db = testDatabase();
let own: SeededMerchant;
let other: SeededMerchant;
let process: ReturnType<typeof processOn>;
let writes: ReadYourWrites;
let act: ReturnType<ReadYourWrites['wrap']>;
let looks: number;
let failing: boolean;
let now = Date.UTC(2026, 0, 6);

beforeEach(async () => {
  own = await seedMerchant(db.database);
  other = await seedMerchant(db.database);
  const { database, mark } = noteWrites(db.database);
  process = processOn(database);
  await process.catalog.fresh();
  looks = 0;
  failing = false;
  const catalog = {
    model: process.catalog.model,
    fresh: async () => {
      looks += 1;
      if (failing) throw new Error('the catalog is away');
      await process.catalog.fresh();
    },
  };
  writes = createReadYourWrites({ catalog, mark, clock: { ...systemClock, now: () => now }, log: process.log });
  act = writes.wrap({ setStoreLine, editListing } as unknown as Parameters<ReadYourWrites['wrap']>[0]);
});

const call = (caller: SeededMerchant, given: object) =>
  ({ caller: { ...caller, maintainer: false }, clientNetwork: '10.0.0.1', ...given }) as never;
const say = (line: string) => act.setStoreLine(process, call(own, { body: { line } }));
const shown = (): string => fromMemory(process, '/api/merchants')?.text ?? '';

/** Returns a function that sends an edit. The edit is refused inside its transaction, so that nothing is committed. */
async function refusedEdit(): Promise<() => Promise<unknown>> {
  const { id } = await seedListing(db.database, own.id);
  const body = { preview: 'another preview' };
  return () => act.editListing(process, call(other, { params: { id }, body, rawBody: body })).catch(() => {});
}

it('a client that changed something sees it at once, whatever else goes on', async () => {
  const refuse = await refusedEdit();
  for (let count = 0; count < 30; count += 1) {
    const around = [refuse(), refuse()];
    await say(`line ${count}`);
    expect(shown()).toContain(`"line ${count}"`);
    await Promise.all(around);
  }
});

it('a refused write that commits nothing does not wait', async () => {
  const refuse = await refusedEdit();
  await refuse();
  const before = looks;
  for (let count = 0; count < 10; count += 1) await refuse();
  expect(looks).toBe(before);
  await say('something new');
  expect(looks).toBe(before + 1);
  await refuse();
  expect(looks).toBe(before + 1);
});

it('a refused write that meets one under way waits with it, and sees what that one changed', async () => {
  const refuse = await refusedEdit();
  await say('before');
  const held = await holdTransactionOpen(db.database, (tx) => tx.run(lockMerchant(own)));
  const saying = say('meanwhile');
  await untilWaiting(db.database);
  const before = looks;
  await refuse();
  expect(looks).toBe(before + 1);
  await held.commit();
  await saying;
  expect(shown()).toContain('"meanwhile"');
});

it('while the catalog cannot refresh, each write tries again', async () => {
  const refuse = await refusedEdit();
  failing = true;
  await say('unseen');
  await refuse();
  expect(looks).toBeGreaterThanOrEqual(2);
  failing = false;
  await refuse();
  expect(shown()).toContain('"unseen"');
});

it('needs a page with the write for the writing network, for a second, and always with a key', async () => {
  const own = { hasKey: false, network: () => '10.0.0.1' };
  expect(writes.leastVersion(own)).toBe(0);
  await say('a line');
  const { version } = process.catalog.model();
  expect(version).toBeGreaterThan(0);
  expect(writes.leastVersion(own)).toBe(version);
  expect(writes.leastVersion({ hasKey: false, network: () => '10.0.0.2' })).toBe(0);
  expect(writes.leastVersion({ hasKey: true, network: () => '10.0.0.2' })).toBe(Number.POSITIVE_INFINITY);
  now += 1_000;
  expect(writes.leastVersion(own)).toBe(0);
});

function lockMerchant({ id }: SeededMerchant) {
  return sql`select from merchants where id = ${id} for update`;
}
