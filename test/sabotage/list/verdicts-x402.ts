import { type Sabotage, world } from '../sabotage.ts';

// Three checks are not tested here, because other lines check the same. isCanonical and sameLog check that the block of `stands` has the
// log's number and hash, and that its log is in the receipt. Instead of `use.log.removed`, the receipt must contain exactly this log, and a
// receipt contains no removed log. The other fields of the use's log are certain, because the log was requested by address, payer and
// authorization nonce.

const DECIDE = 'src/market/payments/paths/x402/decide.ts';
const SIGHTING = 'src/platform/chain/sighting.ts';
const UNIT = ['src/market/payments/paths/x402/decide.test.ts'];

function verdict(name: string, find: string, put: string, tests: readonly string[] = UNIT): Sabotage {
  return { name: `x402-${name}`, edits: [{ file: DECIDE, find, put }], tests };
}

/** Bugs in verdicts about authorizations: paid, not paid, or unknown. */
export const X402_VERDICTS: readonly Sabotage[] = [
  verdict('of-another-chain', "if (evidence.chainId !== terms.chainId) return unknown('wrong_chain');", ''),
  verdict(
    'without-finality',
    'if (log.blockNumber > finalized.number)',
    'if (log.blockNumber < 0n)',
    world('purchase'),
  ),
  verdict('finality-one-block-early', 'log.blockNumber > finalized.number', 'log.blockNumber > finalized.number + 1n'),
  verdict('finality-one-block-late', 'log.blockNumber > finalized.number', 'log.blockNumber >= finalized.number'),
  verdict(
    'final-height-of-another-block',
    "if (log.blockNumber === finalized.number && log.blockHash !== finalized.hash) return unknown('contradiction');",
    '',
  ),
  verdict('block-not-canonical', 'if (!isCanonical(use, receipt, block))', 'if (block === null)'),
  {
    name: 'x402-block-need-not-list-the-transaction',
    edits: [{ file: SIGHTING, find: 'block.transactions.includes(receipt.transactionHash)', put: 'true' }],
    tests: UNIT,
  },
  verdict('log-of-any-contract', ' || use.log.address !== terms.asset', ''),
  verdict('transfer-of-any-token', 'log?.address === terms.asset ?', 'log !== undefined ?'),
  verdict('failed-transaction', "receipt.status !== 'success' || ", ''),
  verdict('use-by-any-payer', 'event.authorizer !== terms.payer || ', ''),
  verdict('use-of-any-nonce', ' || event.nonce !== terms.nonce', ''),
  verdict(
    'receipt-not-held-against-the-block',
    'return sameLogs(receipt, use.transfersInBlock, isByPayer);',
    'return true;',
  ),
  verdict('transfer-by-anybody', 'transfer?.from !== terms.payer', 'transfer === null || transfer === undefined'),
  verdict('transfer-to-anybody', 'made.to !== terms.payee || ', ''),
  verdict('transfer-of-more', 'made.value !== terms.valueUnits', 'made.value < terms.valueUnits'),
  verdict('transfer-of-less', 'made.value !== terms.valueUnits', 'made.value > terms.valueUnits'),
  verdict('transfer-before-the-use', 'logIndex === use.log.logIndex + 1', 'logIndex === use.log.logIndex - 1'),
  verdict(
    'any-later-transfer',
    'receipt.logs.find(({ logIndex }) => logIndex === use.log.logIndex + 1)',
    `receipt.logs.find((one) => one.logIndex > use.log.logIndex && decodeTransfer(one)?.to === terms.payee &&
      decodeTransfer(one)?.value === terms.valueUnits)`,
  ),
  verdict(
    'use-without-transfer-is-refused',
    "return unknown('use_without_transfer', sighting)",
    "return refused('no_fitting_transfer')",
  ),
  verdict(
    'stopped-is-delivered',
    "if (terms.isStopped) return { outcome: 'review', reason: 'listing_changed', transfer };",
    '',
  ),
  // The second implementations make the same mistake, so that only the tests can notice it.
  {
    name: 'auditor-takes-any-later-transfer',
    edits: [{ file: 'test/audit/read-chain.ts', find: 'logIndex === next && from', put: 'logIndex >= next && from' }],
    tests: ['test/audit/read-chain.test.ts'],
  },
  {
    name: 'judge-takes-any-later-transfer',
    edits: [
      {
        file: 'test/judge/judge.ts',
        find: 'place.entries.find(({ index }) => index === named.index + 1)',
        put: "place.entries.find((one) => one.index > named.index && one.what === 'transfer')",
      },
    ],
    tests: ['test/judge/verdicts.test.ts'],
  },
  verdict('cancelled-may-have-paid', "if (decodeAuthorizationUsed(use.log) === null) return refused('canceled');", ''),
  verdict(
    'opened-in-the-same-block',
    'sighting.blockNumber <= terms.openedBlock',
    'sighting.blockNumber < terms.openedBlock',
  ),
  verdict('removal-in-the-same-instant', '* 1000 >= terms.removedAt', '* 1000 > terms.removedAt'),
  verdict(
    'delivered-after-removal',
    'if (terms.removedAt !== null && ',
    'if (terms.removedAt === 0 && ',
    world('one-payment'),
  ),
  verdict(
    'expiry-at-the-latest-block-early',
    'latest.timestamp > terms.validBefore',
    'latest.timestamp >= terms.validBefore',
  ),
  verdict(
    'expiry-at-the-final-block-late',
    'finalized.timestamp >= terms.validBefore',
    'finalized.timestamp > terms.validBefore',
  ),
  verdict('submitted-ends-before-finality', '!terms.mayBeSubmitted && ', '', [...UNIT, ...world('expiry')]),
  verdict('nonce-not-asked-is-refused', "if (evidence.nonceUsed === null) return unknown('not_mined');", ''),
  verdict('used-without-log-is-refused', "return unknown('used_without_log')", "return refused('expired')"),
  verdict('missing-receipt-is-refused', "return unknown('receipt_missing')", "return refused('no_fitting_transfer')"),
];
