import { type Sabotage, world } from '../sabotage.ts';

const DECIDE = 'src/market/payments/paths/direct/decide-claim.ts';
const UNIT = ['src/market/payments/paths/direct/decide-claim.test.ts'];

function verdict(name: string, find: string, put: string, tests: readonly string[] = UNIT): Sabotage {
  return { name: `claim-${name}`, edits: [{ file: DECIDE, find, put }], tests };
}

/** Bugs in verdicts about claimed transactions. */
export const CLAIM_VERDICTS: readonly Sabotage[] = [
  verdict('of-another-chain', "if (evidence.chainId !== terms.chainId) return unknown('wrong_chain');", ''),
  verdict(
    'without-finality',
    'if (receipt.blockNumber > finalized.number)',
    'if (receipt.blockNumber < 0n)',
    world('direct-purchase'),
  ),
  verdict(
    'finality-one-block-late',
    'receipt.blockNumber > finalized.number',
    'receipt.blockNumber >= finalized.number',
  ),
  verdict(
    'final-height-of-another-block',
    "if (receipt.blockNumber === finalized.number && receipt.blockHash !== finalized.hash) return unknown('contradiction');",
    '',
  ),
  verdict('block-not-canonical', 'if (!isInBlock(receipt, block))', 'if (block === null)'),
  verdict('receipt-not-held-against-the-block', 'if (!sameLogs(', 'if (receipt.logs.length < 0 && !sameLogs('),
  verdict('failed-transaction', "if (receipt.status !== 'success') {", 'if (receipt.logs.length < 0) {'),
  verdict('log-of-any-contract', 'return log.address === asset && decodeTransfer(log)', 'return decodeTransfer(log)'),
  verdict(
    'paid-to-anybody',
    'return log.address === asset && decodeTransfer(log)?.to === payee;',
    'return log.address === asset;',
    [...UNIT, ...world('direct-transfers')],
  ),
  verdict('paid-by-anybody', '({ from }) => from === terms.payer', '() => true', [
    ...UNIT,
    ...world('direct-purchase'),
  ]),
  verdict(
    'exact-amount-is-too-little',
    'own.find(({ value }) => value >= terms',
    'own.find(({ value }) => value > terms',
  ),
  verdict(
    'any-amount-is-enough',
    'own.find(({ value }) => value >= terms.minimumUnits)',
    'own.find(() => true)',
    world('direct-transfers'),
  ),
  verdict(
    'parts-are-summed-up',
    'own.find(({ value }) => value >= terms.minimumUnits)',
    'own.find(() => own.reduce((sum, { value }) => sum + value, 0n) >= terms.minimumUnits)',
    world('direct-transfers'),
  ),
  verdict('transfer-of-nothing', 'transfer === null || transfer.value === 0n', 'transfer === null'),
  verdict(
    'window-begins-late',
    'blockTime < terms.windowFrom',
    'blockTime <= terms.windowFrom',
    world('direct-transfers'),
  ),
  verdict('window-has-no-beginning', 'blockTime < terms.windowFrom || ', '', world('direct-transfers')),
  verdict('window-ends-late', 'blockTime >= terms.windowTo', 'blockTime > terms.windowTo', world('direct-transfers')),
  verdict(
    'window-ends-early',
    'blockTime >= terms.windowTo',
    'blockTime >= terms.windowTo - 1n',
    world('direct-transfers'),
  ),
  verdict('not-found-late', 'finalized.timestamp >= terms.windowTo', 'finalized.timestamp > terms.windowTo'),
  verdict(
    'no-receipt-is-refused',
    'const isWindowOver = finalized !== null && ',
    'const isWindowOver = finalized === null || ',
    [...UNIT, ...world('direct-hashes')],
  ),
  verdict('removal-in-the-same-instant', '* 1000 >= terms.removedAt', '* 1000 > terms.removedAt'),
  verdict(
    'delivered-after-removal',
    'if (terms.removedAt !== null && ',
    'if (terms.removedAt === 0 && ',
    world('direct-endings'),
  ),
  verdict(
    'transfer-of-an-authorization-of-the-ledger',
    "if (evidence.isOfLedger) return { outcome: 'refused', reason: 'transaction_used' };",
    '',
    [...UNIT, ...world('direct-transfers')],
  ),
  verdict(
    'transfer-of-a-foreign-authorization',
    'if (receipt.logs.some((log) => isAuthorizedBy(log, terms)))',
    'if (own.length < 0)',
    world('direct-transfers'),
  ),
  verdict(
    'goods-bought-before',
    "if (terms.surplus) return review('already_bought', enough);",
    '',
    world('direct-claims'),
  ),
];
