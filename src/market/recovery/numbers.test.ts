import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { seedListing, seedMerchant } from '../../../test/support/seed.ts';
import type { Hex } from '../../platform/hex.ts';
import { type Intent, insertIntent } from '../payments/paths/direct/store.ts';
import { findUnproven, insertUnproven } from '../payments/paths/direct/unproven-store.ts';
import { findPayment } from '../payments/store.ts';
import { findHighestOf, insertLostPayment, raiseSequence } from './store.ts';

const db = testDatabase();
const AT = new Date('2026-05-20T12:00:00Z');
const DAY_MS = 86_400_000;
const [payer, asset, payee] = ['1', '2', '3'].map((digit): Hex => `0x${digit.repeat(40)}`) as [Hex, Hex, Hex];
const hash = (digit: string): Hex => `0x${digit.repeat(64)}`;
let merchantId: bigint;
let listingId: bigint;
/** Number of the unsigned claim, from the payments' sequence. */
let number: bigint;

beforeAll(async () => {
  merchantId = (await seedMerchant(db.database)).id;
  listingId = (await seedListing(db.database, merchantId)).id;
  const intent: Intent = {
    ...{ id: 'a'.repeat(32), purpose: 'purchase', listingId, merchantId, chainId: 8453n, asset, payee, payer },
    ...{ minimumUnits: 1_000_000n, exactUnits: null, nonce: 'b'.repeat(32), challenge: 'text' },
    ...{ createdAt: AT, expiresAt: new Date(AT.getTime() + 600_000) },
  };
  const transfer = {
    ...{ txHash: hash('4'), logIndex: 0, blockNumber: 5n, blockHash: hash('5'), sender: payer, value: 1_000_000n },
    blockTime: BigInt(AT.getTime() / 1000),
  };
  await db.database.transaction(async (tx) => {
    await insertIntent(tx, intent);
    const now = new Date(AT.getTime() + DAY_MS);
    await insertUnproven(tx, { intent, payer, bodyHash: null, transfer, now });
  });
  number = (await findUnproven(db.database, { intentId: intent.id }))?.id ?? 0n;
});

const lastNumber = async (): Promise<bigint> =>
  (await db.database.one<{ last_value: bigint }>(sql`select last_value from payments_id_seq`)).last_value;

test('those claims count among the numbers that were given out, where the sequence has forgotten them', async () => {
  await db.database.run(sql`select setval('payments_id_seq', 1, false)`);
  expect(await findHighestOf(db.database, 'payments')).toBe(number);
  await db.database.run(sql`select setval('payments_id_seq', ${number})`);
});

test('a payment that is taken back gets no number of a claim that no signature proves', async () => {
  await db.database.transaction((tx) =>
    insertLostPayment(tx, {
      ...{
        id: number,
        purpose: 'purchase',
        listingId,
        merchantId,
        bodyHash: null,
        chainId: 8453n,
        asset,
        payee,
        payer,
      },
      ...{ valueUnits: 1_000_000n, nonce: hash('6'), validAfter: 0n, validBefore: 1_900_000_000n, openedBlock: 1n },
      ...{ tokenHash: null, signersReadAt: null, createdAt: AT, now: AT },
    }),
  );
  expect(await findPayment(db.database, number)).toBeNull();
  expect(await findPayment(db.database, number + 1n)).toMatchObject({ payer, status: 'settling' });
});

test('a sequence is raised, and never set back', async () => {
  await db.database.transaction((tx) => raiseSequence(tx, 'payments', 1_000n));
  expect(await lastNumber()).toBe(1_000n);
  await db.database.transaction((tx) => raiseSequence(tx, 'payments', 7n));
  expect(await lastNumber()).toBe(1_000n);
});
