import { type Sabotage, world } from '../sabotage.ts';

const REVIEW = 'src/market/payments/review-payment.ts';
const REFUND = 'src/market/payments/review-payment.ts';
const OLD = 'src/market/payments/payments.ts';
const UNIT = ['src/market/payments/decide-refund.test.ts'];

function bug(name: string, file: string, find: string, put: string, tests: readonly string[]): Sabotage {
  return { name, edits: [{ file, find, put }], tests };
}

/** Bugs in fees and in payments that do not fit. */
export const REVIEWS: readonly Sabotage[] = [
  bug(
    'review-by-a-stranger',
    REVIEW,
    "if (decider !== call.caller.id) throw new Refusal('payment_not_found');",
    '',
    world('direct-purchase'),
  ),
  bug(
    'review-decided-twice',
    REVIEW,
    "if (locked.status !== 'needs_review') throw new Refusal('already_decided');",
    '',
    world('review-refunds'),
  ),
  bug('refund-without-finality', REFUND, 'const isFinal = ', 'const isFinal = true || ', world('review-refunds')),
  bug('refund-in-a-block-that-is-gone', REFUND, ' || !isInBlock(receipt, block)', ' || block === null', UNIT),
  bug('refund-of-less', REFUND, 'transfer.value < terms.minimumUnits', 'transfer.value < 0n', [
    ...UNIT,
    ...world('review-refunds'),
  ]),
  bug(
    'refund-of-exactly-that-is-too-little',
    REFUND,
    'transfer.value < terms.minimumUnits',
    'transfer.value <= terms.minimumUnits',
    UNIT,
  ),
  bug('refund-by-anybody', REFUND, 'transfer?.from !== terms.from || ', 'transfer === null || ', [
    ...UNIT,
    ...world('review-refunds'),
  ]),
  bug(
    'refund-in-the-block-of-the-payment',
    REFUND,
    'blockNumber <= terms.afterBlock',
    'blockNumber < terms.afterBlock',
    world('review-refunds'),
  ),
  bug('refund-of-any-token', REFUND, 'log.address === terms.asset && ', '', UNIT),
  bug(
    'refund-by-an-authorization-of-the-ledger',
    REVIEW,
    "if (await isOfLedger(market, payment, evidence.receipt)) throw new Refusal('transaction_used');",
    '',
    world('review-refunds'),
  ),
  bug(
    'refund-that-one-provider-shows',
    REVIEW,
    '(await payments.corroborate(head, payment, shown)) && ',
    '',
    world('two-providers'),
  ),
  bug(
    'old-review-declined-late',
    'src/market/payments/store.ts',
    'and ended_at <= ',
    'and ended_at < ',
    world('review-edge'),
  ),
  bug(
    'old-review-declined-early',
    OLD,
    'now.getTime() - REVIEW_DAYS * DAY_MS',
    'now.getTime() - REVIEW_DAYS * DAY_MS + 1',
    world('review-edge'),
  ),
  bug(
    'surplus-sells-twice',
    'src/market/purchases/complete-purchase.ts',
    'if (payment.surplus) return;',
    '',
    world('direct-claims'),
  ),
  bug(
    'surplus-goes-unnoticed',
    'src/market/payments/paths/direct/store.ts',
    'and (merchant_id = ',
    'and (merchant_id < 0 and merchant_id = ',
    world('bought-elsewhere'),
  ),
];
