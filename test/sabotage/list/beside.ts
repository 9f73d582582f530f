import { type Sabotage, world } from '../sabotage.ts';

const DECIDED = 'src/market/payments/paths/direct/continue-claim.ts';
const FLOW = 'src/market/payments/paths/direct/continue-claim.ts';
const RECORD = 'src/market/payments/paths/direct/settle-claim.ts';
const STORE = 'src/market/payments/paths/direct/store.ts';
const REVIEW = 'src/market/payments/review-payment.ts';
const TESTS = world('surplus-payments', 'surplus-fee-payments');

function bug(name: string, file: string, find: string, put: string): Sabotage {
  return { name, edits: [{ file, find, put }], tests: TESTS };
}

/** Money that comes in twice for one intent. */
export const BESIDE: readonly Sabotage[] = [
  bug(
    'second-transfer-not-looked-at',
    DECIDED,
    'return (await nameSurplus(market, payments, claim, txHash)) ?? claim;',
    'return claim;',
  ),
  {
    name: 'transfer-added-to-a-review',
    edits: [
      { file: DECIDED, find: "  if (claim?.status === 'needs_review') return claim;\n", put: '' },
      {
        file: DECIDED,
        find: "if (claim?.status !== 'completed') return null;",
        put: "if (claim?.status !== 'completed' && claim?.status !== 'needs_review') return null;",
      },
      {
        file: FLOW,
        find: "if (standing?.status === 'completed') {",
        put: 'if (standing !== null && !isOpen(standing)) {',
      },
    ],
    tests: TESTS,
  },
  bug('transfer-beside-named-by-another-wallet', DECIDED, 'if (claim.payer !== payer) return claim;', ''),
  bug(
    'transfer-beside-named-before-the-signature',
    FLOW,
    'const signed = await checkSignature(payments, intent, claim.signature);',
    "if (standing?.status === 'completed') await decideSurplus(market, payments, intent, { txHash, payer: standing.payer });\n  const signed = await checkSignature(payments, intent, claim.signature);",
  ),
  bug(
    'further-transfers-left-behind',
    RECORD,
    'if (!isUndecided || decision === undefined',
    'if (isUndecided || decision === undefined',
  ),
  bug(
    'transfer-taken-from-an-open-claim',
    RECORD,
    'else if (await isNamedElsewhere(tx, claim, txHash)) continue;\n',
    '',
  ),
  bug('transfer-beside-proves-twice', RECORD, 'throw new AlreadyProven();\n', '{}\n'),
  bug('transfer-beside-sells', REVIEW, '    await mustBeBought(tx, locked);\n', ''),
  bug(
    'transfer-beside-not-followed',
    STORE,
    "and status not in ('verifying', 'settling') order by id",
    "and status = 'unpaid' order by id",
  ),
];
