import sql from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { openPayment, ruleAgainst } from '../../../test/support/listing-life.ts';
import { seedListing, seedMerchant } from '../../../test/support/seed.ts';
import type { Tx } from '../../platform/database/database.ts';
import { hasEnded, isOpenStatus, PAYMENT_STEPS, type PaymentStatus } from './payment.ts';

const db = testDatabase();
let listing: bigint;

beforeAll(async () => {
  const seller = await seedMerchant(db.database);
  listing = (await seedListing(db.database, seller.id)).id;
});

const STATUSES = Object.keys(PAYMENT_STEPS) as PaymentStatus[];
const followersOf = (from: PaymentStatus): readonly PaymentStatus[] => PAYMENT_STEPS[from];

/** Returns the shortest path to a status. */
function pathTo(status: PaymentStatus): PaymentStatus[] {
  const paths: PaymentStatus[][] = [['verifying']];
  for (const path of paths) {
    const last = path.at(-1) ?? 'verifying';
    if (last === status) return path.slice(1);
    paths.push(...followersOf(last).map((next) => [...path, next]));
  }
  throw new Error(`no way leads to ${status}`);
}

/** Also sets the other columns that the schema requires in that state, so that only the step is tested. */
async function step(tx: Tx, id: bigint, from: PaymentStatus, to: PaymentStatus): Promise<void> {
  const outcome = from !== 'needs_review' ? null : to === 'completed' ? 'deliver' : 'declined';
  const isOver = !isOpenStatus(to);
  const needsReason = ['unpaid', 'needs_review', 'rejected'].includes(to);
  await tx.run(sql`
    update payments set status = ${to}::text, updated_at = now(),
      settling_at = case when ${to}::text = 'settling' then now() else settling_at end,
      ended_at = case when ${isOver} then coalesce(ended_at, now()) end,
      end_reason = case when ${needsReason} then coalesce(end_reason, 'a reason') else end_reason end,
      review_outcome = coalesce(${outcome}::text, review_outcome),
      reviewed_at = case when ${outcome}::text is null then reviewed_at else now() end
    where id = ${id}`);
}

class TakenBack extends Error {}

/** Returns the rule that forbids the step, including those that are only checked at commit. */
async function attempt(from: PaymentStatus, to: PaymentStatus): Promise<string> {
  try {
    return await ruleAgainst(
      db.database.transaction(async (tx) => {
        const { id } = await openPayment(tx, listing);
        await tx.run(sql`
          insert into payment_proofs (tx_hash, purpose, payment_id, block_number, block_hash, block_time, log_index,
            value_units, written_at)
          values (${Buffer.alloc(32, 1)}, 'purchase', ${id}, 2, ${Buffer.alloc(32, 2)}, now(), 0, 1, now())`);
        let at: PaymentStatus = 'verifying';
        for (const next of [...pathTo(from), to]) {
          await step(tx, id, at, next);
          at = next;
        }
        await tx.run(sql`set constraints all immediate`);
        throw new TakenBack();
      }),
    );
  } catch (error) {
    if (error instanceof TakenBack) return 'none';
    throw error;
  }
}

it.each(STATUSES)('a payment that is %s goes exactly where the table says', async (from) => {
  for (const to of STATUSES.filter((status) => status !== from)) {
    const isLegal = followersOf(from).includes(to);
    expect([to, await attempt(from, to)]).toEqual([to, isLegal ? 'none' : 'payments_move_forward']);
  }
});

it('begins as verifying by x402, and as nothing else', async () => {
  for (const status of STATUSES.filter((one) => one !== 'verifying')) {
    const begun = db.database.run(sql`
      insert into payments (purpose, path, status, listing_id, chain_id, asset, payee, payer, value_units, nonce, valid_after,
        valid_before, opened_block, created_at, updated_at, settling_at, ended_at, end_reason)
      values ('purchase', 'x402', ${status}, ${listing}, 8453, ${Buffer.alloc(20)}, ${Buffer.alloc(20)}, ${Buffer.alloc(20)}, 1,
        ${Buffer.alloc(32)}, 0, 1, 1, now(), now(), now(), ${isOpenStatus(status) ? null : new Date(0)}, 'x')`);
    expect([status, await ruleAgainst(begun)]).toEqual([status, 'payments_begin_open']);
  }
});

it('is open while the chain may have its say, and has ended when nothing can follow', () => {
  expect(STATUSES.filter(isOpenStatus)).toEqual(['verifying', 'settling']);
  expect(STATUSES.filter(hasEnded)).toEqual(['completed', 'unpaid', 'rejected']);
});

it('an index that holds places while payments are open, or until they are over, names the states of the table', async () => {
  const rows = await db.database.rows<{ name: string; rule: string }>(sql`
    select indexrelid::regclass::text as name, pg_get_expr(indpred, indrelid) as rule from pg_index
    where indrelid = 'payments'::regclass and pg_get_expr(indpred, indrelid) like '%status%' order by 1`);
  const named = rows.map(({ name, rule }) => [name, STATUSES.filter((status) => rule.includes(`'${status}'`))]);
  const over = STATUSES.filter((status) => hasEnded(status) && status !== 'completed');
  expect(Object.fromEntries(named)).toEqual({
    payments_in_review: ['needs_review'],
    payments_lapsed: ['unpaid'],
    payments_one_fee_per_body: STATUSES.filter((status) => !hasEnded(status)),
    payments_one_per_intent: over,
    payments_one_per_merchant: over,
    payments_one_per_payer: over,
    payments_open: STATUSES.filter(isOpenStatus),
  });
});
