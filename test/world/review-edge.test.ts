import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { declineOldReviews } from '../../src/market/payments/payments.ts';
import { claimCases } from './review-cases.ts';
import { reviewStage } from './review-stage.ts';

const stage = await reviewStage();
const THIRTY_DAYS_MS = 30 * 86_400_000;

it('a review is declined when it is thirty days old, and not a millisecond earlier', async () => {
  const { id } = await claimCases.amount_too_little(stage);
  const { market, payments } = stage.world.running;
  const read = () =>
    stage.world.db.database.one<{ status: string; ended_at: Date }>(
      sql`select status, ended_at from payments where id = ${id}`,
    );
  const thirtyDaysOld = (await read()).ended_at.getTime() + THIRTY_DAYS_MS;
  const lookAt = (now: number) =>
    declineOldReviews({ ...market, clock: { ...market.clock, now: () => now } }, payments.completions);
  await lookAt(thirtyDaysOld - 1);
  expect((await read()).status).toBe('needs_review');
  await lookAt(thirtyDaysOld);
  expect((await read()).status).toBe('rejected');
});
