import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { carryOut } from './carry-out.ts';

const PAYMENTS = 'src/market/payments';
const MIGRATION = readFileSync(join(import.meta.dirname, 'samples/voucher.sql.txt'), 'utf8');

// Opened, never handed on: a transfer that was made before. The test that comes with it runs a market and a chain.
carryOut('A payment path', {
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
    says: /payment-paths\.ts.*'voucher' is missing/,
  },
});
