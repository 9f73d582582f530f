import { type Edit, type Sabotage, world } from '../sabotage.ts';

// Two checks are not tested here, because the token enforces the same. drive-payment compares validBefore to the millisecond, but the token
// refuses an expired authorization anyway. The state of the authorization is read at `pending` besides the latest block, but the token
// refuses a second use anyway.

const CHECK = 'src/market/payments/paths/x402/check-proof.ts';
const DRIVE = 'src/market/payments/paths/x402/drive-payment.ts';
const END = 'src/market/payments/paths/x402/end-payment.ts';
const SIGNATURE = 'src/platform/chain/signature.ts';
const ANSWER = 'src/market/purchases/answer-payment.ts';
const BUY = 'src/market/purchases/buy-listing.ts';

function bug(name: string, file: string, find: string, put: string, tests: readonly string[]): Sabotage {
  return { name, edits: [{ file, find, put }], tests };
}

const SIGNED_BY_PAYER = 'const recovered = (await recoverSigner(digest, keyForm)) === from;';
/** Returns code that accepts signatures for another domain too. */
function alsoSigned(domain: string): string {
  const given =
    'name: network.domainName, version: network.domainVersion, chainId: network.chainId, verifyingContract: network.usdc';
  const other = `authorizationDigest({ ${given}, ${domain} }, authorization)`;
  return `const recovered = (await recoverSigner(digest, keyForm)) === from || (await recoverSigner(${other}, keyForm)) === from;`;
}

const proofs: readonly Sabotage[] = [
  bug('high-s-is-taken', SIGNATURE, 's <= CURVE_ORDER / 2n', 's < CURVE_ORDER', world('bad-payment')),
  bug('v-of-0-and-1-is-taken', SIGNATURE, "v === '1b' || v === '1c'", "['1b', '1c', '00', '01'].includes(v)", [
    'src/platform/chain/signature.test.ts',
  ]),
  bug(
    'signed-by-anybody',
    CHECK,
    SIGNED_BY_PAYER,
    SIGNED_BY_PAYER.replace('=== from', '!== null'),
    world('one-payment'),
  ),
  bug('signed-for-another-chain', CHECK, SIGNED_BY_PAYER, alsoSigned('chainId: 1n'), world('bad-payment')),
  bug(
    'signed-for-another-version-of-the-token',
    CHECK,
    SIGNED_BY_PAYER,
    alsoSigned("version: '1'"),
    world('bad-payment'),
  ),
  bug(
    'proof-for-another-payee',
    CHECK,
    'if (authorization.to !== terms.payee)',
    'if (authorization.to === authorization.from)',
    world('bad-payment'),
  ),
  bug(
    'proof-of-more-than-the-price',
    CHECK,
    'authorization.value !== terms.valueUnits',
    'authorization.value < terms.valueUnits',
    world('bad-payment'),
  ),
  bug(
    'proof-of-less-than-the-price',
    CHECK,
    'authorization.value !== terms.valueUnits',
    'authorization.value > terms.valueUnits',
    world('bad-payment'),
  ),
  bug(
    'proof-for-another-resource',
    CHECK,
    'proof.resourceUrl !== null && proof.resourceUrl !== terms.resource',
    'proof.resourceUrl === terms.payee',
    world('one-payment'),
  ),
  bug(
    'nonce-that-was-used-before',
    CHECK,
    'if (!usedLatest && !usedPending) return { balanceUnits };',
    'if (!usedLatest || usedPending) return { balanceUnits };',
    world('one-payment'),
  ),
  bug(
    'proof-valid-a-second-early',
    CHECK,
    'authorization.validAfter > seconds',
    'authorization.validAfter > seconds + 1n',
    world('proof-times'),
  ),
  bug(
    'proof-valid-a-second-late',
    CHECK,
    'authorization.validAfter > seconds',
    'authorization.validAfter >= seconds',
    world('proof-times'),
  ),
  bug('least-time-left-is-too-little', CHECK, 'ahead < BigInt(AUTH', 'ahead <= BigInt(AUTH', world('proof-times')),
  bug('most-time-left-is-too-much', CHECK, 'ahead > BigInt(AUTH', 'ahead >= BigInt(AUTH', world('proof-times')),
  bug(
    'no-time-left',
    CHECK,
    'if (ahead < BigInt(AUTHORIZATION_MIN_AHEAD_SECONDS))',
    'if (ahead < 0n)',
    world('bad-payment'),
  ),
];

/** Adds the header's version to the ledger's key, which otherwise depends only on the signed data and not on its spelling. */
const RAW_KEY: readonly Edit[] = [
  {
    file: 'src/market/purchases/buy-request.ts',
    find: 'const { from: payer, nonce } = proof.authorization;',
    put: 'const { from: payer } = proof.authorization; const nonce = (proof.authorization.nonce.slice(0, 65) + proof.version) as Hex;',
  },
  {
    file: 'src/market/purchases/start-purchase.ts',
    find: '{ proof: opening.proof,',
    put: '{ proof: { authorization: { ...authorization, nonce: (authorization.nonce.slice(0, 65) + opening.proof.version) as never } },',
  },
];

const answers: readonly Sabotage[] = [
  { name: 'ledger-keyed-by-the-raw-header', edits: RAW_KEY, tests: world('one-payment') },
  bug(
    'ledger-looked-up-for-one-version-only',
    'src/market/purchases/buy-request.ts',
    'if (payment !== null) return payment;',
    'if (payment !== null && proof.version === 1) return payment;',
    world('purchase', 'one-payment'),
  ),
  bug('asked-to-pay-after-settle', ANSWER, "case 'unpaid':", "case 'unpaid':\n    case 'settling':", world('unpaid')),
  bug(
    'asked-to-pay-when-settle-is-refused',
    DRIVE,
    "return answer.kind === 'rejected' ? facilitatorRefused('settle', answer.reason) : null;",
    "return answer.kind === 'rejected' ? new Refusal('payment_rejected', { retryAfterSeconds: 1 }) : null;",
    world('unpaid'),
  ),
  bug(
    'facilitator-success-is-believed',
    ANSWER,
    'return await answerUndecided(buy, current, { collector, refusal });',
    "return current.status === 'settling' && refusal === null ? await deliverGoods(market, listing.id, { purchase: null, collectedBy: 'key' }) : await answerUndecided(buy, current, { collector, refusal });",
    world('unpaid'),
  ),
  bug(
    'facilitator-refusal-is-believed',
    DRIVE,
    'const confirmed = await confirmRejection(market, payment);',
    'const confirmed = answer.reason;',
    world('unpaid'),
  ),
  bug(
    'unreadable-chain-confirms-a-refusal',
    DRIVE,
    'if (error instanceof RpcFailure) return null;',
    "if (error instanceof RpcFailure) return 'The chain cannot be read.';",
    world('unheard-refusal'),
  ),
  bug(
    'unanswered-verify-is-a-yes',
    DRIVE,
    "if (answer.kind === 'valid') return null;",
    "if (answer.kind !== 'invalid') return null;",
    world('unpaid'),
  ),
  bug(
    'goods-for-a-transfer-that-is-only-seen',
    ANSWER,
    'if (payment.txHash === null && !request.collectOnly) throw',
    'if (payment.txHash !== null) return await deliver(market, listing.id, null);\n  if (!request.collectOnly) throw',
    world('purchase'),
  ),
  bug(
    'settled-before-it-is-written-down',
    DRIVE,
    'const committed = await commitSettling(market, completions, payment);',
    'const committed = payment as Payment | Refusal;',
    world('expiry'),
  ),
  bug(
    'a-public-proof-collects',
    BUY,
    'const collector = collectorOf(request, signedBy);',
    'const collector = collectorOf(request, signedBy ?? known?.payer ?? null);',
    world('one-payment'),
  ),
  bug(
    'collect-signature-serves-twice',
    BUY,
    '  await spendIfCollected(market, request, answer);\n',
    '',
    world('collect-signature'),
  ),
  bug(
    'used-nonce-is-asked-to-pay',
    CHECK,
    "if ('refusal' in holdings) return holdings;",
    "if ('refusal' in holdings && refusal === null) return holdings;",
    world('nonce-first'),
  ),
  bug(
    'a-stranger-who-submits-collects',
    'src/market/purchases/collecting.ts',
    "  if (goods.payerCollectsOnly) return 'signature';\n",
    '',
    world('background-pass', 'review-x402'),
  ),
  bug(
    'every-sender-is-a-signer',
    END,
    'if (sender.isNamed || !sender.namesAny) return false;',
    'return false;',
    world('background-pass', 'review-x402'),
  ),
  bug(
    'held-payments-are-not-looked-for',
    BUY,
    'for (const payment of await findPaymentsOf(market, request, { signedBy, ownPayer: ownPayment?.payer ?? null }))',
    'for (const payment of [] as Payment[])',
    world('one-payment'),
  ),
  bug(
    'one-proof-for-fee-and-purchase',
    'src/market/listings/fees/fee-payment.ts',
    "if (presented !== null && !isOfRequest(presented, request)) throw new Refusal('payment_bound_elsewhere');",
    '',
    world('fee-credit'),
  ),
  bug(
    'one-proof-for-two-listings',
    'src/market/purchases/buy-request.ts',
    "if (payment !== null && payment.listingId !== listingId) throw new Refusal('payment_bound_elsewhere');",
    '',
    world('one-payment', 'fee-credit'),
  ),
  bug(
    'a-proof-of-a-fee-is-driven-as-todays',
    'src/market/listings/list-request.ts',
    'payee: payment?.payee ?? treasury,',
    'payee: treasury,',
    world('fee-terms'),
  ),
];

const OPEN = 'src/market/purchases/start-purchase.ts';
const START = 'src/market/purchases/start-purchase.ts';
const ON_SALE = "  mustStep(listing, 'buy');\n";

const ends: readonly Sabotage[] = [
  bug('asked-to-pay-for-an-ended-listing', START, ON_SALE, '', world('ended-meanwhile')),
  {
    name: 'an-ended-listing-is-bought',
    edits: [
      { file: START, find: ON_SALE, put: '' },
      { file: OPEN, find: "    mustStep(shared, 'buy');\n", put: '' },
    ],
    tests: world('one-payment'),
  },
  bug(
    'a-proof-that-shows-no-wallet-may-pay-again',
    START,
    'throw warnOfUnseenPayment(error, request, findings);',
    'throw error;',
    world('ended-meanwhile'),
  ),
  bug(
    'a-key-is-entitled-where-only-the-payer-collects',
    'src/market/purchases/store.ts',
    'and not p.payer_collects_only)',
    ')',
    world('version-payments'),
  ),
  bug(
    'an-entitled-buyer-is-asked-to-pay',
    'src/market/purchases/buy-listing.ts',
    'if (entitled !== null) return entitled;\n  if (ownPayment',
    'if (ownPayment',
    world('versions'),
  ),
  bug('an-entitled-proof-is-settled', OPEN, '    if (entitled) return null;\n', '', world('versions')),
  bug(
    'goods-that-were-removed-go-to-earlier-buyers',
    'src/market/purchases/collecting.ts',
    "  if (isRefused(judgeStep(listing, 'inherit'))) return false;\n",
    '',
    world('version-payments'),
  ),
  bug(
    'a-later-buyer-of-the-older-one-is-entitled',
    'src/market/purchases/store.ts',
    'coalesce(y.created_at, p.created_at) < line.newer_at',
    "coalesce(y.created_at, p.created_at) < 'infinity'",
    world('versions'),
  ),
  bug('a-listing-that-just-ended-is-bought', OPEN, "    mustStep(shared, 'buy');\n", '', world('ended-meanwhile')),
  bug(
    'removed-while-verifying-is-settled',
    DRIVE,
    "if (removedAt !== null) return new Refusal('listing_removed');",
    '',
    world('buy-corners'),
  ),
  bug(
    'removed-is-verified-again',
    DRIVE,
    'const refusal = row.isRemoved',
    'const refusal = payment.surplus',
    world('buy-corners'),
  ),
  bug(
    'edit-stops-nothing',
    'src/market/listings/changes/edit-listing.ts',
    '  await stopAttempts(tx, listing.id, new Date(market.clock.now()));\n',
    '',
    world('edited-meanwhile'),
  ),
  bug(
    'stopped-is-verified-again',
    DRIVE,
    'if (payment.stoppedAt !== null) return stoppedRefusal(endOf(payment), market.clock.now());',
    '',
    world('edited-meanwhile'),
  ),
  {
    name: 'stopped-is-settled',
    edits: [
      {
        file: 'src/market/payments/store.ts',
        find: " and status = 'verifying' and stopped_at is null\n      returning",
        put: " and status = 'verifying'\n      returning",
      },
      {
        file: 'migrations/market/0014-one-transfer-one-payment.sql',
        find: "if new.stopped_at is not null and new.status = 'settling' then",
        put: 'if false then',
      },
    ],
    tests: world('edited-meanwhile'),
  },
  bug(
    'database-lets-stopped-be-settled',
    'migrations/market/0014-one-transfer-one-payment.sql',
    "if new.stopped_at is not null and new.status = 'settling' then",
    'if false then',
    ['src/market/listings/changes/stop-attempts.test.ts'],
  ),
  bug(
    'transfer-shown-twice',
    END,
    '(await isTransferTaken(tx, transfer)) ? null : logIndex',
    'logIndex',
    world('batched-settlement'),
  ),
  bug(
    'reviewed-without-a-transfer',
    'src/market/payments/review-payment.ts',
    '    if (proof === null && locked.logIndex === null) await mustBeUntaken(tx, locked, located);\n',
    '',
    world('batched-settlement'),
  ),
  bug(
    'removal-not-looked-at-under-the-lock',
    END,
    'decide(evidence, attemptTermsOf(locked, subject.removedAt))',
    'decide(evidence, attemptTermsOf(locked, null))',
    world('one-payment'),
  ),
  bug(
    'price-of-today',
    'migrations/market/0018-chain-of-a-listing.sql',
    ' or new.price_units <> old.price_units',
    '',
    world('sold-once'),
  ),
];

/** Bugs in purchases and fees by x402. */
export const X402: readonly Sabotage[] = [...proofs, ...answers, ...ends];
