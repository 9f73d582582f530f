import fc from 'fast-check';
import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import type { Database } from '../../src/platform/database/database.ts';
import { constraintOf } from '../../src/platform/database/database-error.ts';
import { rotatedRounds, rotationPart } from '../suite/rotation.ts';
import { testDatabase } from '../support/database.ts';
import { settableClock } from '../support/market-context.ts';
import {
  editListing,
  hideAllListings,
  removeListing,
  restoreListing,
  SEED_TIME,
  seedPaidPurchase,
  seedStock,
  withdrawListing,
} from '../support/seed.ts';
import { endWorldListing, seedWorldListing, seedWorldSale } from '../support/world-listing.ts';
import { fromMemory, memoryAnswer } from './ask.ts';
import { addressesOf, expectSame } from './same-bytes.ts';
import { openStage, processOn } from './stage.ts';

// Comments, sales and endings of listings. A copy that followed every change must answer like a copy that loads now.

const db = testDatabase();
const clock = settableClock(Date.UTC(2026, 0, 6));

const KINDS = [
  'comment',
  'comment',
  'silence',
  'remove',
  'remove',
  'restore',
  'restore',
  'appeal',
  'appeal',
  'decide',
  'version',
  'flags',
  'buy',
  'edit',
  'withdraw',
  'thing',
  'thing',
  'link',
] as const;
type Kind = (typeof KINDS)[number];

const plan = fc.array(
  fc.array(fc.tuple(fc.constantFrom(...KINDS), fc.nat(1_000)), { minLength: 1, maxLength: 14, size: 'max' }),
  { minLength: 2, maxLength: 4, size: 'max' },
);

const STATEMENT = 'It\n"is" good \\ \u{1f600} \u2028 é';

async function comment(database: Database, id: bigint, by: bigint): Promise<void> {
  await database.run(sql`
    insert into comments (id, listing_id, merchant_id, body, text_flags, created_at)
    select coalesce(max(id), 0) + 1, ${id}, ${by}, ${STATEMENT}, '{instructions}', now() from comments`);
}

const silence = (database: Database, id: bigint) =>
  database.run(sql`
    update comments set removed_at = now(), removed_reason_code = 'spam', removed_reason = 'x'
    where id = (select min(id) from comments where listing_id = ${id} and removed_at is null)`);

const appeal = (database: Database, id: bigint) =>
  database.run(sql`
    insert into appeals (removal_id, listing_id, statement, created_at)
    select id, listing_id, ${STATEMENT}, now() from removals where listing_id = ${id} and restored_at is null
    on conflict do nothing`);

const decide = (database: Database, id: bigint) =>
  database.run(sql`
    update appeals set outcome = 'removal_upheld', outcome_reason = ${STATEMENT}, decided_at = now()
    where listing_id = ${id} and outcome is null`);

/** Adds a newer version of this listing, with other texts, unless it already has one. */
async function addVersion(database: Database, id: bigint): Promise<bigint[]> {
  const made = await database.rows<{ id: bigint }>(sql`
    insert into listings (id, merchant_id, title, description, preview, price_units, seller_wallet, tags, aisle, created_at,
      artifact_commitment, artifact_bytes, artifact_encoding, artifact_media_type, body_hash, supersedes, text_flags)
    select (select max(id) + 1 from listings), merchant_id, title || ' again', description, preview, price_units, seller_wallet, tags,
      aisle, ${SEED_TIME}, artifact_commitment, artifact_bytes, artifact_encoding, artifact_media_type, body_hash, id,
      '{role_markup,encoded}'
    from listings l where id = ${id} and not exists (select from listings n where n.supersedes = l.id)
    returning id`);
  return made.map((row) => row.id);
}

/** Runs one random step in a thing's life. The database refuses a step that the thing's state does not allow. */
async function runThingStep(database: Database, id: bigint, which: number, by: bigint): Promise<void> {
  const steps = [
    () => seedWorldSale(database, id, { merchantId: by }),
    () => endWorldListing(database, id, 'canceled'),
    () => endWorldListing(database, id, 'stale'),
    () => removeListing(database, id),
    () => withdrawListing(database, id),
    () => restoreListing(database, id),
  ];
  await steps[which % steps.length]?.().catch((error: unknown) => {
    if (constraintOf(error) === null) throw error;
  });
}

const link = (database: Database, by: bigint, which: number) =>
  database.run(sql`
    update merchants set city_handle = ${which % 3 === 0 ? null : `resident-${which}`} where id = ${by}`);

async function perform(
  database: Database,
  { ids, things }: { ids: bigint[]; things: readonly bigint[] },
  [kind, which]: [Kind, number],
  voters: readonly bigint[],
) {
  const id = ids[which % ids.length] ?? 0n;
  const by = voters[which % voters.length] ?? 0n;
  if (kind === 'comment') await comment(database, id, by);
  else if (kind === 'silence') await silence(database, id);
  else if (kind === 'remove') await removeListing(database, id);
  else if (kind === 'restore') for (const one of ids) await restoreListing(database, one);
  else if (kind === 'appeal') for (const one of ids) await appeal(database, one);
  else if (kind === 'decide') await decide(database, id);
  else if (kind === 'version') ids.push(...(await addVersion(database, id)));
  else if (kind === 'flags')
    await database.run(sql`update listings set text_flags = '{tool_call,encoded}' where id = ${id}`);
  else if (kind === 'buy')
    await seedPaidPurchase(database, id, { payer: `0x${which.toString(16).padStart(40, '0')}` }).catch(() => {});
  else if (kind === 'thing') await runThingStep(database, things[which % things.length] ?? 0n, which >> 3, by);
  else if (kind === 'link') await link(database, by, which);
  else if (kind === 'edit') await editListing(database, id, { title: `Lamp ${which}` });
  else await withdrawListing(database, id);
}

async function open(database: Database, seller: bigint): Promise<{ ids: bigint[]; things: bigint[] }> {
  const stock = [{ title: 'Brass lamp' }, { title: 'Map', tags: ['lamp'] }, { title: 'Atlas', aisle: 'data' as const }];
  const ids = await seedStock(database, seller, stock);
  const things: bigint[] = [];
  for (const title of ['A house', 'A lamp']) things.push((await seedWorldListing(database, seller, { title })).id);
  return { ids, things };
}

it('comments, appeals, versions, flags and things: a copy that followed and one that was just read give the same bytes and tags', async () => {
  const { database } = db;
  const stage = await openStage(database);
  const old = processOn(database, { clock });
  const kinds = new Set<string>();
  await fc.assert(
    fc.asyncProperty(plan, async (batches) => {
      await hideAllListings(database);
      const { ids, things } = await open(database, stage.sellers[0] ?? 0n);
      for (const batch of batches) {
        for (const one of batch) await perform(database, { ids, things }, one, stage.voters);
        for (const id of ids) fromMemory(old, `/api/listing/${id}`);
        const fresh = processOn(database, { clock });
        await expectSame(old, fresh, addressesOf([...ids, ...things], ['/api/shelves?aisle=world']));
        for (const id of ids) {
          const { count } = await database.one<{ count: bigint }>(
            sql`select count(*) from comments where listing_id = ${id}`,
          );
          // A listing with comments is not answered from memory, because the answer includes them.
          for (const market of [old, fresh])
            expect(memoryAnswer(market, `/api/listing/${id}`) === null).toBe(count > 0n);
          kinds.add(count > 0n ? 'with' : 'without');
        }
      }
    }),
    { numRuns: rotatedRounds(import.meta.filename, 12), seed: 20_260_109 + rotationPart() },
  );
  expect(kinds).toEqual(new Set(['with', 'without']));
}, 60_000);
