import sql from 'sql-template-tag';
import { beforeEach, expect, it } from 'vitest';
import { processOn } from '../../test/catalog/stage.ts';
import { quickWay } from '../../test/catalog/ways.ts';
import { testDatabase } from '../../test/support/database.ts';
import { heldOpen, untilWaiting } from '../../test/support/listing-life.ts';
import { type SeededMerchant, seedListing, seedMerchant } from '../../test/support/seed.ts';
import { noteWrites } from '../platform/database/note-writes.ts';
import { editListing } from './listings/changes/edit-listing.ts';
import { setStoreLine } from './merchants/set-store-line.ts';
import { type OwnWrites, seeOwnWrites } from './see-own-writes.ts';

const db = testDatabase();
let own: SeededMerchant;
let other: SeededMerchant;
let process: ReturnType<typeof processOn>;
let act: ReturnType<typeof seeOwnWrites>;
let looks: number;
let failing: boolean;

beforeEach(async () => {
  own = await seedMerchant(db.database);
  other = await seedMerchant(db.database);
  const { database, mark } = noteWrites(db.database);
  process = processOn(database);
  await process.catalog.fresh();
  looks = 0;
  failing = false;
  const catalog: OwnWrites['catalog'] = {
    fresh: async () => {
      looks += 1;
      if (failing) throw new Error('the catalog is away');
      await process.catalog.fresh();
    },
  };
  const operations = { setStoreLine, editListing } as unknown as Parameters<typeof seeOwnWrites>[1];
  act = seeOwnWrites({ catalog, mark, log: process.log }, operations);
});

const call = (caller: SeededMerchant, given: object) =>
  ({ caller: { ...caller, maintainer: false }, ...given }) as never;
const say = (line: string) => act.setStoreLine(process, call(own, { body: { line } }));
const shown = (): string => quickWay(process, '/api/merchants')?.text ?? '';

/** Refused in its transaction, after a lock, so that nothing of it stays. */
async function refusedEdit(): Promise<() => Promise<unknown>> {
  const { id } = await seedListing(db.database, own.id);
  const body = { preview: 'another preview' };
  return () => act.editListing(process, call(other, { params: { id }, body, rawBody: body })).catch(() => {});
}

it('whoever changed something sees it at once, whatever else goes on', async () => {
  const refuse = await refusedEdit();
  for (let count = 0; count < 30; count += 1) {
    const around = [refuse(), refuse()];
    await say(`line ${count}`);
    expect(shown()).toContain(`"line ${count}"`);
    await Promise.all(around);
  }
});

it('a refused write of which nothing stays waits for nothing', async () => {
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
  const held = await heldOpen(db.database, (tx) => tx.run(lockMerchant(own)));
  const saying = say('meanwhile');
  await untilWaiting(db.database);
  const before = looks;
  await refuse();
  expect(looks).toBe(before + 1);
  await held.commit();
  await saying;
  expect(shown()).toContain('"meanwhile"');
});

it('as long as the catalog can not be looked at, each tries again', async () => {
  const refuse = await refusedEdit();
  failing = true;
  await say('unseen');
  await refuse();
  expect(looks).toBeGreaterThanOrEqual(2);
  failing = false;
  await refuse();
  expect(shown()).toContain('"unseen"');
});

function lockMerchant({ id }: SeededMerchant) {
  return sql`select from merchants where id = ${id} for update`;
}
