import { type Sabotage, world } from '../sabotage.ts';

const OPEN = 'src/market/payments/paths/direct/unproven-claim.ts';
const FLOW = 'src/market/payments/paths/direct/continue-claim.ts';
const STORE = 'src/market/payments/paths/direct/unproven-store.ts';
const DECIDE = 'src/market/payments/review-unproven.ts';
const SIGNED = 'src/market/payments/paths/direct/check-signature.ts';
const FORMS = 'src/platform/chain/signature-forms.ts';
const REVIEWS = world('unproven-reviews');
const RIVALS = world('unproven-rivals');
const SENDERS = world('unnamed-payers');
const CORNERS = world('unproven-corners');
const KINDS = world('wallet-kinds');

function bug(name: string, file: string, find: string, put: string, tests: readonly string[]): Sabotage {
  return { name, edits: [{ file, find, put }], tests };
}

/** Bugs in signatures of contract wallets, and in claims without a signature. */
export const UNPROVEN: readonly Sabotage[] = [
  bug(
    'unproven-before-a-day-is-over',
    OPEN,
    'if (finalizedAt < from || ',
    'if (finalizedAt < 0n || false && ',
    REVIEWS,
  ),
  bug('unproven-of-a-key-that-delegates', OPEN, 'if (delegateOf(claim.code) !== null)', 'if (false)', REVIEWS),
  bug('unproven-without-a-limit', OPEN, '>= MAX_UNPROVEN_CLAIMS', '>= 1_000', REVIEWS),
  bug(
    'unproven-outlives-a-signature',
    FLOW,
    "    await endUnprovenOf(tx, { txHash, payer, payee: intent.payee }, 'proven', new Date(market.clock.now()));\n",
    '',
    RIVALS,
  ),
  bug(
    'unproven-of-what-was-paid',
    OPEN,
    "if (await isTransactionClaimed(tx, { txHash, payer })) return new Refusal('transaction_used');",
    '',
    RIVALS,
  ),
  bug(
    'unproven-outlives-a-decision',
    DECIDE,
    "  await endUnprovenOf(tx, { txHash, payer: claim.payer, payee: claim.payee }, 'superseded', now);\n",
    '',
    RIVALS,
  ),
  bug(
    'rivals-are-not-shown-together',
    STORE,
    'where u.ended_at is null and (l.merchant_id',
    'where u.id = (select max(id) from unproven_claims) and (l.merchant_id',
    RIVALS,
  ),
  bug('any-sender-is-asked', SIGNED, 'senders.slice(0, MAX_SENDERS)', 'senders', SENDERS),
  bug(
    'any-sender-is-the-payer',
    SIGNED,
    'if (form !== null) return { payer: wallet };',
    'return { payer: wallet };',
    SENDERS,
  ),
  bug('contract-is-not-waited-for', SIGNED, '(await hasCode(rpc, candidates))', 'false', SENDERS),
  bug(
    'unpaid-claim-hides-what-counts',
    'src/market/payments/paths/direct/store.ts',
    "order by status in ('unpaid', 'rejected'), id desc",
    'order by id desc',
    CORNERS,
  ),
  bug(
    'superseded-may-be-paid-again',
    'src/market/payments/payment.ts',
    " && payment.status !== 'completed' && findElsewhereOutcome(payment) === null",
    " && payment.status !== 'completed'",
    CORNERS,
  ),
  bug(
    'fee-is-asked-for-while-one-waits',
    'src/market/listings/fees/open-fee-intent.ts',
    '    if (call.body.pay_anew !== true) await mustHaveNoOpenClaim(market, merchant);\n',
    '',
    CORNERS,
  ),
  bug('second-transfer-has-no-place', STORE, "and status = 'completed' and beside is null)", 'and false)', CORNERS),
  bug('envelope-is-not-opened', FORMS, 'const sent = openEnvelope(signature);', 'const sent = signature;', KINDS),
  bug('one-form-is-asked', FORMS, 'new Set([sent, canonicalForm(sent)])', 'new Set([sent])', KINDS),
  bug(
    'sent-form-is-settled',
    'src/market/payments/paths/x402/check-proof.ts',
    'signature: acceptedForms.get(proof) ?? proof.signature',
    'signature: proof.signature',
    KINDS,
  ),
];
