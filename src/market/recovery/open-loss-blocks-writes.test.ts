import sql, { type Sql } from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import { recordingLog } from '../../../test/support/recording-log.ts';
import { seedMerchant } from '../../../test/support/seed.ts';
import { systemClock } from '../../platform/clock.ts';
import { constraintOf } from '../../platform/database/database-error.ts';
import { insertLoss } from '../../platform/log-copy/store.ts';
import { recordEvent } from '../events/record-event.ts';
import { createSequencer } from '../events/sequencer.ts';
import { resumePayments } from '../payments/chain/commands.ts';
import { findChainState, isHalted } from '../payments/chain/store.ts';
import { refuseByDatabase } from './guard-history.ts';
import { readLosses } from './store.ts';

const db = testDatabase();
const CHAIN = 8453n;
const copy = { id: 10n, hash: Buffer.alloc(32, 1) };
const loss = { copy, foundId: 3n, host: '00000000-0000-0000-0000-000000000001', now: new Date() };

async function tell(): Promise<void> {
  const market = marketContext({ database: db.database });
  const { id, handle } = await seedMerchant(db.database);
  await db.database.run(sql`update merchants set joined_at = now() where id = ${id}`);
  await db.database.transaction((tx) =>
    recordEvent(tx, market, { kind: 'register', actor: handle, detail: { merchant_id: Number(id) } }),
  );
}
const numbered = (): Promise<void> =>
  createSequencer({ database: db.database, clock: systemClock, log: recordingLog().log }).whenNumbered();
const attempt = async (statement: Sql): Promise<string | null | undefined> =>
  constraintOf(await db.database.run(statement).catch((error: unknown) => error))?.constraint;

test('while a loss is open the database itself takes no event and no payment, numbers nothing, and halts', async () => {
  await tell();
  expect(await isHalted(db.database, CHAIN)).toBe(false);
  expect(await insertLoss(db.database, loss)).toBe(true);
  expect(await insertLoss(db.database, loss)).toBe(false);
  expect(await readLosses(db.database)).toMatchObject({ open: 1n, count: 2n });
  const error = await tell().catch((thrown: unknown) => thrown);
  expect(constraintOf(error)?.constraint).toBe('history_is_whole');
  expect(refuseByDatabase(error, [])).toMatchObject({ reason: 'history_lost' });
  await expect(numbered()).rejects.toMatchObject({ constraint: 'history_is_whole' });
  expect(
    await attempt(sql`insert into payments (purpose, path, status, chain_id, asset, payee, payer, value_units, created_at, updated_at)
      values ('purchase', 'x402', 'verifying', 1, '', '', '', 1, now(), now())`),
  ).toBe('history_is_whole');
  expect(await isHalted(db.database, CHAIN)).toBe(true);
  const { halt } = await findChainState(db.database, CHAIN);
  expect(halt).toMatchObject({ reason: 'history_lost', detail: 'the log ends with event 3, and event 10 was public' });
  await expect(resumePayments(marketContext({ database: db.database }), 'a test')).rejects.toThrow(
    'npm run chain -- recover',
  );
  expect(await db.database.rows(sql`select from chain_commands`)).toEqual([]);
});

test('a loss is ended by a recovery that is written down in the same transaction, and by nothing else', async () => {
  expect(await attempt(sql`delete from history_losses`)).toBe('history_losses_end_once');
  expect(await attempt(sql`update history_losses set found_id = 11`)).toBe('history_losses_end_once');
  const { id } = await db.database.one<{ id: bigint }>(sql`
    insert into recoveries (chain_id, from_block, to_block, reason, kept_event_id, event_id, found, at)
    values (8453, 1, 2, 'r', 0, 5, '{}', now()) returning id`);
  expect(await attempt(sql`update history_losses set recovered_by = ${id}`)).toBe('history_losses_end_once');
  expect(await attempt(sql`delete from recoveries`)).toBe('recoveries_only_grow');
});
