import sql, { type Sql } from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { constraintOf } from '../../src/platform/database/database-error.ts';
import { testDatabase } from '../support/database.ts';
import { type SeededMerchant, seedListing, seedMerchant } from '../support/seed.ts';

// Tests the constraints that allow one row for each thing that may be paid only once. The code checks and locks first, but the constraints
// hold without these checks.

const db = testDatabase();
let merchant: SeededMerchant;
let listing: bigint;
beforeAll(async () => {
  merchant = await seedMerchant(db.database);
  const seller = await seedMerchant(db.database);
  listing = (await seedListing(db.database, seller.id)).id;
});

let made = 0;
const bytes = (length: number): Buffer => {
  made += 1;
  return Buffer.alloc(length, made);
};

/** Returns the constraint (or SQLSTATE) that a statement violates. Null if it succeeds. */
async function brokenRule(statement: Sql): Promise<string | null> {
  try {
    await db.database.run(statement);
    return null;
  } catch (error) {
    const broken = constraintOf(error);
    if (broken === null) throw error;
    return broken.constraint ?? broken.sqlstate;
  }
}

const chain = 8453;
const asset = bytes(20);
const payee = bytes(20);
const now = sql`date_trunc('second', now())`;

function insertAttempt(given: { payer?: Buffer; nonce?: Buffer; merchantId?: bigint | null; bodyHash?: Buffer }): Sql {
  const { payer = bytes(20), nonce = bytes(32), merchantId = null, bodyHash = null } = given;
  const purpose = bodyHash === null ? 'purchase' : 'listing_fee';
  return sql`insert into payments (purpose, path, status, listing_id, merchant_id, body_hash, chain_id, asset, payee, payer, value_units,
      nonce, valid_after, valid_before, opened_block, created_at, updated_at)
    values (${purpose}, 'x402', 'verifying', ${bodyHash === null ? listing : null}, ${merchantId}, ${bodyHash}, ${chain}, ${asset},
      ${payee}, ${payer}, 1000000, ${nonce}, 0, 2000000000, 1, ${now}, ${now})`;
}

it('an authorization opens one payment, whatever it is shown for', async () => {
  const authorization = { payer: bytes(20), nonce: bytes(32) };
  expect(await brokenRule(insertAttempt(authorization))).toBeNull();
  const fee = insertAttempt({ ...authorization, merchantId: merchant.id, bodyHash: bytes(32) });
  expect(await brokenRule(fee)).toBe('payments_one_per_authorization');
});

it('a payer and a merchant have one payment for goods', async () => {
  const payer = bytes(20);
  expect(await brokenRule(insertAttempt({ payer, merchantId: merchant.id }))).toBeNull();
  expect(await brokenRule(insertAttempt({ payer }))).toBe('payments_one_per_payer');
  expect(await brokenRule(insertAttempt({ merchantId: merchant.id }))).toBe('payments_one_per_merchant');
});

it('a body has one undecided fee', async () => {
  const fee = { merchantId: merchant.id, bodyHash: bytes(32) };
  expect(await brokenRule(insertAttempt(fee))).toBeNull();
  expect(await brokenRule(insertAttempt(fee))).toBe('payments_one_fee_per_body');
});

it('an intent has one claim, also one for goods that were bought before', async () => {
  const [intent, buyer] = [bytes(16), await seedMerchant(db.database)];
  await db.database.run(sql`insert into payment_intents (id, purpose, listing_id, merchant_id, chain_id, asset, payee, minimum_units, nonce,
      challenge, created_at, expires_at)
    values (${intent}, 'purchase', ${listing}, ${buyer.id}, ${chain}, ${asset}, ${payee}, 1000000, ${bytes(16)}, 'x', ${now},
      ${now} + interval '10 minutes')`);
  const claim = (
    payer: Buffer,
  ): Sql => sql`insert into payments (purpose, path, status, listing_id, merchant_id, chain_id, asset, payee, payer,
      value_units, intent_id, window_from, window_to, surplus, settling_at, created_at, updated_at)
    select purpose, 'direct', 'settling', listing_id, merchant_id, chain_id, asset, payee, ${payer}, minimum_units, id, created_at, expires_at,
      true, ${now}, ${now}, ${now} from payment_intents where id = ${intent}`;
  expect(await brokenRule(claim(bytes(20)))).toBeNull();
  expect(await brokenRule(claim(bytes(20)))).toBe('payments_one_per_intent');
});
