import sql, { raw } from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { ruleAgainst } from '../../../test/support/listing-life.ts';
import { removeListing, restoreListing, seedListing, seedMerchant } from '../../../test/support/seed.ts';

// No database role, not even the owner of the tables, can change posted texts and decisions.

const db = testDatabase();
beforeAll(async () => {
  const { database } = db;
  const keeper = await seedMerchant(database);
  const { id } = await seedListing(database, (await seedMerchant(database)).id);
  await removeListing(database, id);
  await database.run(sql`
    insert into appeals (removal_id, listing_id, statement, created_at)
    select id, listing_id, 'It was good', now() from removals`);
  await database.run(sql`
    update appeals set outcome = 'restored', outcome_reason = 'It was', decided_at = now()`);
  await restoreListing(database, id);
  await removeListing(database, id);
  await database.run(sql`
    insert into appeals (removal_id, listing_id, statement, created_at)
    select id, listing_id, 'It is good', now() from removals where restored_at is null`);
  await database.run(sql`
    insert into comments (id, listing_id, merchant_id, body, created_at, removed_at, removed_reason_code, removed_reason) values
      (1, ${id}, ${keeper.id}, 'stands', now(), null, null, null), (2, ${id}, ${keeper.id}, 'gone', now(), now(), 'spam', 'x')`);
  await database.run(sql`
    insert into text_removals (merchant_id, reason_code, reason, removed_by, removed_at)
    values (${keeper.id}, 'spam', 'x', ${keeper.id}, now())`);
  await database.run(
    sql`insert into flags (merchant_id, listing_id, reason, created_at) values (${keeper.id}, ${id}, 'look', now())`,
  );
});

const EMPTIED = `removed_at = now(), removed_reason_code = 'spam'`;

it.each([
  `update comments set body = '' where id = 1`,
  `update comments set text_flags = '{encoded}'`,
  `update comments set created_at = now()`,
  `update comments set id = 7 where id = 1`,
  `update comments set ${EMPTIED}, removed_reason = 'y', body = '' where id = 1`,
  `update comments set ${EMPTIED}, removed_reason = 'y' where id = 2`,
  `update comments set removed_at = null, removed_reason_code = null, removed_reason = null where id = 2`,
  `update appeals set statement = 'other' where outcome is null`,
  `update appeals set outcome = 'removal_upheld' where outcome = 'restored'`,
  `update appeals set outcome = null, outcome_reason = null, decided_at = null where outcome = 'restored'`,
  `update removals set restored_at = null where restored_at is not null`,
  `update removals set restored_at = now() where restored_at is not null`,
  `update removals set reason = 'other' where restored_at is null`,
  `update flags set reason = 'other'`,
  `update text_removals set reason = 'other'`,
  'delete from comments',
  'delete from appeals',
  'delete from removals',
  'delete from flags',
  'delete from text_removals',
  'truncate comments cascade',
  'truncate appeals cascade',
  'truncate removals cascade',
  'truncate flags',
  'truncate text_removals',
])('no statement may: %s', async (statement) => {
  expect(await ruleAgainst(db.database.run(sql`${raw(statement)}`))).toBe('voices_are_fixed');
});

it('and what is to be ended ends once', async () => {
  const ends = [
    sql`update comments set ${raw(EMPTIED)}, removed_reason = 'y' where id = 1`,
    sql`update appeals set outcome = 'removal_upheld', outcome_reason = 'no', decided_at = now() where outcome is null`,
    sql`update removals set restored_at = now() where restored_at is null`,
  ];
  for (const [at, end] of ends.entries()) expect([at, await ruleAgainst(db.database.run(end))]).toEqual([at, 'none']);
});
