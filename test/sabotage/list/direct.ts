import { type Sabotage, world } from '../sabotage.ts';

// Not tested here: `doNotPayAgain` where a claim fails. Instead, a test checks that no 5xx of a payment route says that paying again is
// safe.

const INTENT = 'src/market/payments/paths/direct/intents.ts';
const OPEN = 'src/market/purchases/claim-purchase.ts';
const NAME = 'src/market/payments/paths/direct/name-transaction.ts';
const SIGNED = 'src/market/payments/paths/direct/check-signature.ts';
const END_CLAIM = 'src/market/payments/paths/direct/end-claim.ts';
const ANSWER = 'src/market/payments/paths/direct/answer-claim.ts';
const GATHER = 'src/market/payments/paths/direct/gather-claims.ts';
const CLAIM = 'src/market/purchases/claim-purchase.ts';
const FLOW = 'src/market/payments/paths/direct/continue-claim.ts';

function bug(name: string, file: string, find: string, put: string, tests: readonly string[]): Sabotage {
  return { name, edits: [{ file, find, put }], tests };
}

const intents: readonly Sabotage[] = [
  bug(
    'claim-gone-with-a-forgotten-block',
    GATHER,
    'if (seenBlock !== null && seenBlock <= latest.number)',
    'if (seenBlock === 0n)',
    world('final-reread'),
  ),
  bug(
    'intent-begins-by-the-later-clock',
    INTENT,
    'Math.min(now, chain)',
    'Math.max(now, chain)',
    world('direct-intents'),
  ),
  bug('intent-while-the-clocks-differ', INTENT, '> MAX_DRIFT_MS', '> MAX_DRIFT_MS * 100', world('direct-intents')),
  bug('intent-on-a-rewritten-chain', INTENT, ' || head.floor === null', '', world('direct-endings')),
  bug(
    'intent-shown-with-too-little-time',
    INTENT,
    '- clock.now() >= MIN_LEFT_MS',
    '- clock.now() > MIN_LEFT_MS - 20_000',
    world('direct-intents'),
  ),
  bug('two-intents-at-once', OPEN, 'await tx.lock(`intents', 'void (`intents', world('direct-intents')),
  bug(
    'intent-while-paying',
    OPEN,
    'if (existing) throw await undecidedRefusal(queryable, market, existing, merchant);',
    '',
    world('direct-intents'),
  ),
  bug('intent-for-an-ended-listing', OPEN, "  mustStep(listing, 'buy');\n", '', world('direct-intents')),
  bug(
    'intent-for-a-payee-who-cannot-receive',
    OPEN,
    'await payments.payees.mustReceive(listing.sellerWallet);',
    '',
    world('direct-intents'),
  ),
  bug(
    'challenge-binds-no-buyer',
    'src/market/payments/paths/direct/intents.ts',
    "['buyer', terms.buyer],",
    "['buyer', 'somebody'],",
    world('direct-intents'),
  ),
];

const claims: readonly Sabotage[] = [
  bug(
    'claim-by-another-merchant',
    NAME,
    'intent === null || intent.merchantId !== merchant.id',
    'intent === null',
    world('direct-intents'),
  ),
  bug('claim-for-another-purpose', NAME, 'intent.purpose !== purpose || ', '', world('fee-terms')),
  bug(
    'claim-with-another-challenge',
    NAME,
    ' || !challengeAgrees(intent, merchant.handle)',
    '',
    world('direct-intents'),
  ),
  bug(
    'claim-at-another-listing',
    CLAIM,
    "if (intent.listingId !== listingId) throw new Refusal('intent_changed');",
    '',
    world('direct-intents'),
  ),
  bug(
    'claim-signed-by-any-key',
    SIGNED,
    'if (wallet !== null && signer === wallet) return { payer: wallet };',
    'if (wallet !== null && signer !== null) return { payer: wallet };',
    world('direct-signatures'),
  ),
  bug(
    'claim-signed-by-nobody',
    SIGNED,
    'return form === null ? { unsigned: wallet, code } : { payer: wallet };',
    'return { payer: wallet };',
    world('direct-signatures'),
  ),
  bug(
    'contract-asked-at-the-latest-block',
    SIGNED,
    "readCode(head.rpc, wallet, 'finalized')",
    "readCode(head.rpc, wallet, 'latest')",
    world('direct-signatures'),
  ),
  bug(
    'claim-by-a-wallet-of-the-seller',
    CLAIM,
    'if (await isSellerWallet(',
    'if (listing === null && await isSellerWallet(',
    world('direct-signatures'),
  ),
  bug(
    'claim-of-a-used-transaction',
    NAME,
    "if (claim?.id !== proof.paymentId || proof.purpose === 'refund')",
    'if (claim === null && proof.paymentId < 0n)',
    world('direct-claims'),
  ),
  bug(
    'six-transactions-in-a-claim',
    'src/market/payments/paths/direct/store.ts',
    'MAX_HASHES = 5',
    'MAX_HASHES = 6',
    world('direct-hashes'),
  ),
  bug(
    'the-newest-transaction-makes-room',
    NAME,
    'undecided.find(({ seenBlock })',
    'undecided.findLast(({ seenBlock })',
    world('direct-hashes'),
  ),
  bug(
    'a-seen-transaction-makes-room',
    NAME,
    '({ seenBlock }) => seenBlock === null',
    '() => true',
    world('direct-hashes'),
  ),
  bug(
    'a-final-transfer-binds-nobody',
    FLOW,
    '  if (await hasFinalTransfer(tx, locked)) throw await undecidedRefusal(tx, market, locked);\n',
    '',
    world('direct-hashes'),
  ),
  bug(
    'a-final-transfer-is-not-looked-for',
    FLOW,
    'if (!isOpen(await payments.readAndDecide(standing))) return null;',
    '',
    world('direct-hashes'),
  ),
  bug(
    'wallet-exchanged-for-one-that-bought',
    CLAIM,
    '  if (surplus !== standing.surplus) throw await undecidedRefusal(tx, market, standing);\n',
    '',
    world('direct-hashes'),
  ),
  bug(
    'claim-of-goods-bought-before',
    CLAIM,
    'const surplus = await hasBought(tx, listing.id, { merchantId: merchant.id, payer });\n  const opened',
    'const surplus = false;\n  const opened',
    world('direct-claims'),
  ),
  {
    name: 'goods-before-a-claim-is-decided',
    edits: [
      {
        file: FLOW,
        find: '? await answerUncompleted(market, payments, current, txHash)',
        put: '? await subject.answerCompleted(current)',
      },
      {
        file: CLAIM,
        find: "  if (purchase === null) throw new TypeError('a completed claim without its purchase');\n",
        put: '',
      },
    ],
    tests: world('direct-purchase'),
  },
  bug(
    'an-undecided-transaction-is-not-waited-for',
    END_CLAIM,
    'if (hasUndecided) return null;',
    '',
    world('direct-hashes'),
  ),
  bug(
    'a-claim-ends-while-halted',
    END_CLAIM,
    ' || (await isHalted(tx, locked.chainId))',
    '',
    world('two-providers-halt'),
  ),
  bug(
    'a-claim-keeps-a-vanished-sighting',
    END_CLAIM,
    'await noteSighting(market.database, payment.id, seen,',
    'if (seen !== null) await noteSighting(market.database, payment.id, seen,',
    world('direct-endings'),
  ),
  bug(
    'a-transaction-delivers-for-two-claims',
    END_CLAIM,
    "decision.outcome === 'settled' && (await proveBy(decision.transfer))",
    "decision.outcome === 'settled' && ((await proveBy(decision.transfer)) || true)",
    world('direct-claims'),
  ),
  bug(
    'undeployed-wallet-refused-before-finality',
    ANSWER,
    'receipt.blockNumber <= finalized.number',
    'receipt.blockNumber > 0n',
    world('direct-signatures'),
  ),
];

const payingAgain: readonly Sabotage[] = [
  bug(
    'a-failure-forgets-do-not-pay-again',
    'src/platform/http/failure.ts',
    'context.payment.proofSent || row.status >= 500 || ',
    'context.payment.proofSent || ',
    ['src/platform/http/create-http-server.test.ts'],
  ),
  bug(
    'refused-transaction-forgets-do-not-pay-again',
    ANSWER,
    'isOpen(claim) ? { doNotPayAgain: true } : {}',
    '{}',
    world('direct-hashes'),
  ),
  bug(
    'unreadable-chain-reads-as-nothing-paid',
    ANSWER,
    'if (!namedHash?.seenBlock) await mustBeReadable(payments);',
    '',
    world('direct-claims'),
  ),
  bug(
    'pending-forgets-do-not-pay-again',
    'src/market/payments/present-payment.ts',
    'do_not_pay_again: !mayPayAgain(payment)',
    'do_not_pay_again: false',
    world('direct-transfers'),
  ),
  bug(
    'review-may-be-paid-again',
    'src/market/payments/payment.ts',
    "hasEnded(payment.status) && payment.status !== 'completed'",
    "payment.status !== 'completed'",
    world('direct-transfers'),
  ),
  bug(
    'unchecked-proof-forgets-do-not-pay-again',
    'src/market/purchases/buy-listing.ts',
    'doNotPayAgain: true',
    'doNotPayAgain: false',
    world('chain-corners'),
  ),
  bug(
    'unspent-fee-forgets-do-not-pay-again',
    'src/market/listings/answer-list-request.ts',
    'doNotPayAgain: true, nextStep',
    'nextStep',
    world('fee-by-transfer-ends'),
  ),
];

/** Bugs in payments by transfer: intents and claims. */
export const DIRECT: readonly Sabotage[] = [...intents, ...claims, ...payingAgain];
