import fc from 'fast-check';
import sql from 'sql-template-tag';
import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { registerCaller } from '../../../test/support/identity-doors.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import { foldHandle, handleSkeleton } from '../../contract/handles.ts';
import { HANDLE_PATTERN } from '../../contract/identity.ts';
import { authenticate } from './authenticate.ts';

const db = testDatabase();
const roomy = { registration_per_ip_hour: 1_000, confirm_per_ip_hour: 1_000, registration_per_hour: 1_000 };
const market = () => marketContext({ database: db.database, limits: roomy });
let door: ReturnType<typeof registerCaller>;

beforeEach(() => {
  door = registerCaller(market());
});

/** Inserts a merchant as the previous version does, without the folded handle. */
async function registeredBefore(handle: string, id?: number): Promise<void> {
  await db.database.run(sql`
    insert into merchants (id, handle, handle_skeleton, model, client_class, joined_at)
    values (coalesce(${id ?? null}::int8, (select greatest(max(id), 1) + 1 from merchants)), ${handle}, ${handleSkeleton(handle)}, 'a model',
      'coding_persistent', now())`);
}

test('a handle is judged at stage and at confirm, and the answer says by which rule', async () => {
  await registeredBefore('keeper', 1);
  const staged = await door.stage('judged-twice');
  for (const [handle, reason, says] of [
    ['maintalner', 'handle_reserved', 'maintainer'],
    ['openaisle-support', 'handle_reserved', 'openaisle'],
    ['usdc-refund', 'handle_reserved', 'refund'],
    ['keeper-of-goods', 'handle_reserved', 'keeper'],
    ['supportteam', 'handle_reserved', 'support'],
    ['k-e-e-per', 'handle_reserved', 'keeper'],
  ] as const) {
    await expect(door.stage(handle), handle).rejects.toMatchObject({
      reason,
      options: { detail: expect.stringContaining(says), nextStep: 'Stage again with another handle.' },
    });
    await expect(door.confirm(staged, { handle }), handle).rejects.toMatchObject({
      reason,
      options: {
        detail: expect.stringContaining(says),
        nextStep: 'Choose another handle and confirm again in the same session.',
      },
    });
  }
  await door.confirm(staged);
  await expect(door.stage('judged-tw1ce')).rejects.toMatchObject({
    reason: 'handle_taken',
    options: { detail: expect.stringContaining('judged-tw1ce looks like judged-twice, which is taken') },
  });
});

test('a stage that was made before the rule is judged at its confirm, and goes on with another handle', async () => {
  const staged = await door.stage('staged-before');
  await db.database.run(sql`update identity_stages set handle = 'help-moderators' where handle = 'staged-before'`);
  await expect(door.confirm(staged)).rejects.toMatchObject({ reason: 'handle_reserved' });
  const { body } = await door.confirm(staged, { handle: 'chosen-anew' });
  expect(body).toMatchObject({ status: 'confirmed', handle: 'chosen-anew' });
});

test('who registered before keeps handle and key, also beside one that looks like it; no new one comes beside them', async () => {
  const staged = await door.stage('staying-here');
  await door.confirm(staged);
  // Simulate a handle that the previous version registered and that is reserved now.
  await db.database.run(sql`
    update merchants set handle = 'official-desk', handle_skeleton = 'official-desk', handle_folded = null where handle = 'staying-here'`);
  for (const handle of ['sally-one', '5ally-one', 'sa-lly-one']) await registeredBefore(handle);
  expect(await authenticate(market(), staged.merchant_key)).toMatchObject({ handle: 'official-desk' });
  for (const handle of ['sallyone', 'sa11y-0ne', '5a-lly-one', 'official-desk'])
    await expect(door.stage(handle), handle).rejects.toMatchObject({ reason: 'handle_taken' });
  await expect(door.stage('0fficial-desk')).rejects.toMatchObject({ reason: 'handle_reserved' });
});

test.each([
  ['race-reader', 'r4ce-r3a-der'],
  ['race-jill', 'race-11j1'],
  ['race-zebra', 'race2ebra'],
  ['race-basis', 'rac3-8a5i5'],
])('of %s and %s only one comes to be, even when both come at once', async (one, other) => {
  const stages = [await door.stage(one), await door.stage(other)];
  const outcomes = await Promise.allSettled(stages.map((staged) => door.confirm(staged)));
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(outcomes).toContainEqual({
    status: 'rejected',
    reason: expect.objectContaining({ reason: 'handle_taken' }),
  });
});

test('the database takes no two new handles that look alike', async () => {
  const insert = (handle: string) =>
    db.database.run(sql`
      insert into merchants (id, handle, handle_skeleton, handle_folded, model, client_class, joined_at)
      values ((select greatest(max(id), 1) + 1 from merchants), ${handle}, ${handleSkeleton(handle)}, ${foldHandle(handle)}, 'a model',
        'coding_persistent', now())`);
  await insert('twice-made');
  await expect(insert('tw1ce-made')).rejects.toThrow(/merchants_by_handle_folded/);
});

test('the database folds handles as this code does', async () => {
  const crowded = fc.string({ unit: fc.constantFrom(...'mnrnnclidj1vw-023457889gq'), minLength: 1, maxLength: 32 });
  const handles = fc.sample(fc.oneof(fc.stringMatching(new RegExp(HANDLE_PATTERN)), crowded), 6_000);
  const folded = await db.database.rows<{ folded: string }>(
    sql`select fold_handle(handle) as folded from unnest(${handles}::text[]) with ordinality given (handle, n) order by n`,
  );
  expect(folded.map((row) => row.folded)).toEqual(handles.map(foldHandle));
});

test('a new handle is compared by an index', async () => {
  const plan = await db.database.transaction(async (tx) => {
    await tx.run(sql`set local enable_seqscan = off`);
    return tx.rows<{ 'QUERY PLAN': string }>(
      sql`explain select handle from merchants where fold_handle(handle) = ${foldHandle('some-handle')}`,
    );
  });
  expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toContain('merchants_by_folded_handle');
});
