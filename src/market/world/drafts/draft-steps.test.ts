import sql from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { testDatabase } from '../../../../test/support/database.ts';
import { openPayment, ruleAgainst } from '../../../../test/support/listing-life.ts';
import { seedListing, seedMerchant } from '../../../../test/support/seed.ts';
import { DRAFT_STATES, type DraftState } from '../../../contract/world-records.ts';
import type { Tx } from '../../../platform/database/database.ts';
import { DRAFT_STEPS } from './store.ts';

const db = testDatabase();
const wallet = Buffer.alloc(20, 0x77);
let merchantId: bigint;
let listingId: bigint;

beforeAll(async () => {
  merchantId = (await seedMerchant(db.database)).id;
  listingId = (await seedListing(db.database, merchantId)).id;
  await db.database.run(sql`insert into wallet_uses (wallet, kind) values (${wallet}, 'world')`);
});

const followersOf = (from: DraftState): DraftState[] =>
  Object.values(DRAFT_STEPS).flatMap((steps: Partial<Record<DraftState, DraftState>>) => steps[from] ?? []);

/** Returns the shortest path to the state. */
function pathTo(state: DraftState): DraftState[] {
  const ways: DraftState[][] = [['pending']];
  for (const way of ways) {
    const last = way.at(-1) ?? 'pending';
    if (last === state) return way.slice(1);
    ways.push(...followersOf(last).map((next) => [...way, next]));
  }
  throw new Error(`no way leads to ${state}`);
}

/** Sets all other columns that the schema requires in that state, so that only the step can fail. */
async function step(tx: Tx, id: bigint, paymentId: bigint, to: DraftState): Promise<void> {
  const isHeld = to === 'fee_pending' || to === 'listed';
  const isOver = to !== 'pending' && to !== 'fee_pending';
  await tx.run(sql`
    update world_drafts set state = ${to}, offer_id = 1, payment_id = ${paymentId},
      held_wallet = case when ${isHeld} then seller_wallet end,
      listing_id = case when ${to === 'listed'} then ${listingId}::bigint end,
      ended_at = case when ${isOver} then now() end
    where id = ${id}`);
}

class TakenBack extends Error {}

async function attempt(from: DraftState, to: DraftState): Promise<string> {
  try {
    return await ruleAgainst(
      db.database.transaction(async (tx) => {
        const payment = await openPayment(tx, listingId);
        const { id } = await tx.one<{ id: bigint }>(sql`
          insert into world_drafts (id, merchant_id, title, description, preview, price_units, seller_wallet, tags, thing_id,
            created_at, expires_at)
          values (1, ${merchantId}, 'A lamp', 'What it is', '', 1, ${wallet}, '{}', 1, now(), now()) returning id`);
        for (const next of [...pathTo(from), to]) await step(tx, id, payment.id, next);
        throw new TakenBack();
      }),
    );
  } catch (error) {
    if (error instanceof TakenBack) return 'none';
    throw error;
  }
}

it.each(DRAFT_STATES)('a draft that is %s goes exactly where the table says', async (from) => {
  for (const to of DRAFT_STATES.filter((state) => state !== from)) {
    const isLegal = followersOf(from).includes(to);
    expect([to, await attempt(from, to)]).toEqual([to, isLegal ? 'none' : 'world_drafts_step']);
  }
});
