import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { carryOut, expectTexts, recipe } from './carry-out.ts';

const WORDS = 'src/market/pages/live/event-words.ts';
const OPERATION = 'src/market/merchants/set-store-line.ts';
const BEFORE = 'migrations/market/0019-hash-of-the-log.sql';

const eventKind = recipe('An event kind', {
  most: 3,
  steps: [
    (copy) =>
      copy.replace('src/contract/vocabulary.ts', ['  recovery: WINDOW,', '  recovery: WINDOW,\n  store_line: WINDOW,']),
    (copy) =>
      copy.replace(
        OPERATION,
        [
          "import type { MarketOperation } from '../context.ts';",
          "import type { MarketOperation } from '../context.ts';\nimport { recordEvent } from '../events/record-event.ts';",
        ],
        [' Records no event, because a store line is not an act of trade.', ''],
        [
          'async ({ database }, call) => {\n  const { id } = call.caller;\n  await writeStoreLine(database, id, call.body.line);',
          `async (market, call) => {
  const { database } = market;
  const { id, handle: actor } = call.caller;
  await database.transaction(async (tx) => {
    const before = await readMerchant(tx, id);
    await writeStoreLine(tx, id, call.body.line);
    if (before?.store_line === call.body.line) return;
    await recordEvent(tx, market, { kind: 'store_line', actor, detail: { merchant_id: Number(id) } });
  });`,
        ],
      ),
    // The books check each event, so a migration recreates their function with the fields of the new kind.
    async (copy) => {
      const [made = ''] = /create function is_in_the_books[\s\S]*?\nend \$\$;/.exec(await copy.read(BEFORE)) ?? [];
      const [head = '', ...rest] = made
        .replace('create function', 'create or replace function')
        .split("    when kind = 'flag'");
      const line = `    when kind = 'store_line' then exists (select from merchants m where m.id = merchant and m.handle = actor)\n`;
      await copy.migrate(
        'store-line-event',
        `-- compatible: older code\n-- The line of a store is in the log.\n${[head, ...rest].join(`${line}    when kind = 'flag'`)}\n`,
      );
    },
    (copy) => copy.add('src/market/merchants/store-line-event.test.ts', 'store-line-event.test.ts.txt'),
    (copy) =>
      copy.replace(
        'src/market/merchants/set-store-line.test.ts',
        [', and is no event', ''],
        ['  expect(await db.database.rows(sql`select queue_id from events`)).toEqual([]);\n', ''],
      ),
  ],
  forgotten: {
    step: (copy) =>
      copy.replace(WORDS, [
        '  recovery: { name',
        "  store_line: { name: 'Lines of stores', says: 'wrote a new line above the store' },\n  recovery: { name",
      ]),
    by: 'types',
    error: /event-words\.ts.*'store_line' is missing/,
  },
});

const fieldListing = recipe('A field of a listing', {
  most: 4,
  steps: [
    (copy) =>
      copy.replace('src/contract/listing-fields.ts', [
        '} as const satisfies Record<string, { label',
        "  spoken: { label: 'Language', example: 'de', text: z.string().max(35).regex(/^[a-z-]+$/), says: 'the language' },\n} as const satisfies Record<string, { label",
      ]),
    (copy) =>
      copy.migrate(
        'spoken',
        `-- compatible: older code
alter table listings add column spoken text;
drop trigger attributes_are_fixed on listings;
create trigger attributes_are_fixed before update on listings for each row
  when ((new.license, new.spoken) is distinct from (old.license, old.spoken)) execute function attributes_are_fixed();
`,
      ),
    (copy) =>
      copy.replace('test/support/sample-requests.ts', [
        "    license: 'MIT',",
        "    license: 'MIT',\n    spoken: 'de',",
      ]),
    (copy) => copy.add('src/market/listings/spoken.test.ts', 'spoken.test.ts.txt'),
  ],
  forgotten: {
    step: (copy) => copy.replace('deploy/app-role.sql', ['license, keywords)', 'license, keywords, spoken)']),
    by: 'test/world/app-role.test.ts',
    error: /spoken/,
  },
  shows: expectTexts('\\"spoken\\"', 'only this language'),
});

const PAYMENTS = 'src/market/payments';
const MIGRATION = readFileSync(join(import.meta.dirname, 'samples/voucher.sql.txt'), 'utf8');

// Adds a payment path on which a payment is opened but never submitted, because its transfer was made before. Its test runs a market and a
// chain.
const paymentPath = recipe('A payment path', {
  most: 5,
  steps: [
    (copy) =>
      copy.replace('src/contract/vocabulary.ts', [
        "  direct: 'by a transfer, claimed',",
        "  direct: 'by a transfer, claimed',\n  voucher: 'by a transfer made before',",
      ]),
    (copy) =>
      copy.replace(
        `${PAYMENTS}/payment.ts`,
        [
          'export type Payment = X402Payment | DirectPayment;',
          `/** A transfer that was made before. */
export interface VoucherPayment extends AnyPayment {
  path: 'voucher';
  merchantId: bigint;
  voucherHash: Hex;
}

export type Payment = X402Payment | DirectPayment | VoucherPayment;`,
        ],
        ['  window_to: Date | null;', '  window_to: Date | null;\n  voucher_hash: Buffer | null;'],
        ['  window_to: true,', '  window_to: true,\n  voucher_hash: true,'],
        [
          '  direct: ({ intent_id',
          `  voucher: ({ voucher_hash: hash, merchant_id: merchantId }) =>
    hash === null || merchantId === null ? null : { path: 'voucher', merchantId, voucherHash: toHex(hash) },
  direct: ({ intent_id`,
        ],
      ),
    (copy) => copy.add(`${PAYMENTS}/paths/voucher/store.ts`, 'voucher-store.ts.txt'),
    (copy) => copy.add(`${PAYMENTS}/paths/voucher/voucher.ts`, 'voucher.ts.txt'),
    (copy) => copy.add(`${PAYMENTS}/paths/voucher/voucher.test.ts`, 'voucher.test.ts.txt'),
    (copy) => copy.migrate('voucher', MIGRATION),
  ],
  forgotten: {
    step: (copy) =>
      copy.replace(
        `${PAYMENTS}/paths/payment-paths.ts`,
        ['export const PAYMENT_PATHS = { x402, direct }', 'export const PAYMENT_PATHS = { x402, direct, voucher }'],
        [
          "import { type Attempt, openAttempt } from './x402/store.ts';",
          "import { voucher } from './voucher/voucher.ts';\nimport { type Attempt, openAttempt } from './x402/store.ts';",
        ],
      ),
    by: 'types',
    error: /payment-paths\.ts.*'voucher' is missing/,
  },
});

const STORE = 'src/market/goods/s3-store';

const artifactStore = recipe('Another artifact store', {
  most: 1,
  steps: [(copy) => copy.add(`${STORE}.test.ts`, 'memory-store.test.ts.txt')],
  forgotten: {
    step: (copy) => copy.add(`${STORE}.ts`, 'memory-store.ts.txt'),
    by: `${STORE}.test.ts`,
    error: /could not store a probe object/,
  },
});

carryOut(import.meta.filename, [eventKind, fieldListing, paymentPath, artifactStore]);
