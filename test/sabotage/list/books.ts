import { type Edit, type Sabotage, world } from '../sabotage.ts';

// Not tested here: unique `purchases.payment_id` and `fees.payment_id`. The trigger payments_move_forward already ends a payment only once.

const PAYMENTS = 'migrations/market/0004-payments.sql';
const DIRECT = 'migrations/market/0006-direct-payment.sql';
/** Newest migration of payments_move_forward. */
const MOVES = 'migrations/market/0014-one-transfer-one-payment.sql';
const BESIDE = 'migrations/market/0008-paid-beside.sql';
const LICENSE = 'migrations/market/0022-license.sql';
const PROOFS = 'src/market/payments/proof-store.ts';

function book(name: string, edits: readonly Edit[], tests: readonly string[]): Sabotage {
  return { name, edits, tests };
}

/** Makes the insert of a proof ignore any conflict, where the code names one constraint. */
const ANY_CONFLICT: Edit = { file: PROOFS, find: 'on conflict (tx_hash) do nothing', put: 'on conflict do nothing' };

function notUnique(file: string, index: string): Edit {
  return { file, find: `create unique index ${index} on`, put: `create index ${index} on` };
}

/** Bugs in rules that the database itself enforces. */
export const BOOKS: readonly Sabotage[] = [
  book(
    'a-transaction-proves-two-things',
    [
      {
        file: PAYMENTS,
        find: 'tx_hash bytea primary key check (length(tx_hash) = 32),\n  purpose',
        put: 'tx_hash bytea not null check (length(tx_hash) = 32),\n  purpose',
      },
      ANY_CONFLICT,
    ],
    world('batched-settlement', 'direct-claims', 'review-rules'),
  ),
  book('a-payment-has-two-proofs', [notUnique(DIRECT, 'payment_proofs_one_per_payment')], world('review-rules')),
  book(
    'a-payment-has-two-refunds',
    [notUnique(DIRECT, 'payment_proofs_one_refund_per_payment')],
    world('review-rules'),
  ),
  book(
    'an-authorization-opens-two-payments',
    [notUnique(PAYMENTS, 'payments_one_per_authorization')],
    world('overtaken-nonce'),
  ),
  book(
    'an-authorization-opens-one-payment-per-listing',
    [
      {
        file: PAYMENTS,
        find: 'on payments (chain_id, asset, payer, nonce);',
        put: 'on payments (listing_id, chain_id, asset, payer, nonce);',
      },
    ],
    world('overtaken-nonce'),
  ),
  book('a-payer-pays-twice', [notUnique(DIRECT, 'payments_one_per_payer')], world('one-payment')),
  book('a-merchant-pays-twice', [notUnique(DIRECT, 'payments_one_per_merchant')], world('one-payment')),
  book('an-intent-is-claimed-twice', [notUnique(BESIDE, 'payments_one_per_intent')], world('one-row')),
  book('a-body-pays-two-fees', [notUnique(BESIDE, 'payments_one_fee_per_body')], world('one-row')),
  book('a-merchant-buys-twice', [notUnique(PAYMENTS, 'purchases_one_per_merchant')], world('sold-once')),
  book('a-payer-buys-twice', [notUnique(PAYMENTS, 'purchases_one_per_payer')], world('sold-once')),
  book(
    'a-fee-pays-for-two-listings',
    [{ file: 'migrations/market/0003-listings.sql', find: 'fee_id bigint unique,', put: 'fee_id bigint,' }],
    world('sold-once'),
  ),
  book(
    'a-credit-is-spent-twice',
    [
      { file: 'migrations/market/0003-listings.sql', find: 'fee_id bigint unique,', put: 'fee_id bigint,' },
      { file: 'src/market/listings/fees/store.ts', find: 'await tx.lock(`credits', put: 'void (`credits' },
    ],
    world('fee-credit'),
  ),
  book(
    'a-spent-credit-stays-a-credit',
    [
      {
        file: 'src/market/listings/fees/store.ts',
        find: 'and not exists (select from listings l where l.fee_id = f.id)\n    order by',
        put: 'order by',
      },
    ],
    world('fee-credit'),
  ),
  book(
    'completed-without-a-proof',
    [
      {
        file: DIRECT,
        find: "if new.status in ('completed', 'needs_review')",
        put: "if new.status in ('needs_review')",
      },
    ],
    world('review-rules'),
  ),
  book(
    'a-payment-changes-its-payer',
    [{ file: MOVES, find: 'if new.payer <> old.payer and not (', put: 'if new.payer is null and not (' }],
    world('review-rules'),
  ),
  book(
    'a-claim-on-terms-of-its-own',
    [{ file: DIRECT, find: 'and created_at = new.window_from and expires_at = new.window_to', put: '' }],
    world('review-rules'),
  ),
  book(
    'an-intent-changes',
    [
      {
        file: 'migrations/market/0016-budgets.sql',
        find: 'create trigger payment_intents_only_grow before update or delete',
        put: 'create trigger payment_intents_only_grow before delete',
      },
    ],
    world('direct-intents', 'review-rules'),
  ),
  book(
    'a-sold-license-changes',
    [{ file: LICENSE, find: 'when (new.license is distinct from old.license)', put: 'when (false)' }],
    ['src/market/listings/license.test.ts'],
  ),
];
