import { type Sabotage, world } from '../sabotage.ts';

const DECIDED = 'src/market/payments/paths/direct/continue-claim.ts';
const FLOW = 'src/market/payments/paths/direct/continue-claim.ts';
const RECORD = 'src/market/payments/paths/direct/end-claim.ts';
const STORE = 'src/market/payments/paths/direct/store.ts';
const REVIEW = 'src/market/payments/review-payment.ts';
const KEPT = 'src/market/payments/paths/direct/refuse-meanwhile.ts';
const FURTHER = 'src/market/payments/paths/direct/further-store.ts';
const TESTS = world('surplus-payments', 'surplus-fee-payments');
const TOP_UPS = world('top-up');

function bug(name: string, file: string, find: string, put: string): Sabotage {
  return { name, edits: [{ file, find, put }], tests: TESTS };
}

function kept(name: string, file: string, find: string, put: string): Sabotage {
  return { name, edits: [{ file, find, put }], tests: TOP_UPS };
}

/** Bugs in second payments for one intent. */
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
      { file: FLOW, find: "if (standing?.status === 'needs_review') {", put: 'if (standing === undefined) {' },
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
    'const signatureCheck = await checkSignature(payments, claim);',
    "if (standing?.status === 'completed') await decideSurplus(market, payments, intent, { txHash, payer: standing.payer });\n  const signatureCheck = await checkSignature(payments, claim);",
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
  kept('further-transfer-kept-for-another-wallet', KEPT, "    if (payer !== locked.payer) return 'left';\n", ''),
  kept(
    'further-transfer-lost-by-delivery',
    REVIEW,
    "  if (outcome === 'deliver') await releaseWaitingHashes(tx, locked.id);\n",
    '',
  ),
  kept('unseen-transaction-shown-to-all', FURTHER, ' and h.seen_block is not null', ''),
  kept(
    'foreign-transfer-shown-to-the-seller',
    'src/market/payments/paths/direct/further-transfers.ts',
    'transfer?.from !== review.payer || ',
    'transfer === null || ',
  ),
];
