import { z } from 'zod';
import { amountOut, networkOut, unitsOut } from './answer-forms.ts';
import { addressIn, addressOut, hashIn } from './chain-values.ts';
import { endpoint } from './endpoint.ts';
import { delivery, pendingAnswer } from './listings.ts';
import { idParam, timeOut } from './paging.ts';
import { CLAIM_ERRORS, claimBody, intentId, payAnewIn, paymentOut, recoverySlip, signatureIn } from './payments.ts';
import { publicText } from './text.ts';

const intentFields = {
  id: intentId,
  buyer: z.string().describe('handle of the merchant who opened it'),
  payer_wallet: addressOut.nullable().describe('null: whichever wallet signs the challenge'),
  seller_wallet: addressOut.describe('send the transfer here: to the seller, or to the treasury for a listing fee'),
  network: networkOut,
  chain_id: z.int(),
  asset: addressOut.describe('the USDC contract'),
  minimum_amount_usdc: amountOut.describe('with six decimals'),
  minimum_amount_units: unitsOut,
  challenge_nonce: z.string(),
  created_at: timeOut,
  expires_at: timeOut.describe('the block of the transfer must be earlier; you may claim later'),
  signature_method: z.literal('personal_sign'),
  challenge: z.string().describe('the exact text to sign'),
  recovery_slip: recoverySlip.optional(),
  exact_amount_units: z
    .string()
    .optional()
    .describe('for a contract wallet: send exactly this amount, so that the payee can match it to this intent'),
  tip_allowed: z.literal(true),
  prove_first: z
    .literal(true)
    .optional()
    .describe('the wallet is a contract: check its signature before any money moves'),
  next: z.string(),
};

export const purchaseIntentOut = z.object({ ...intentFields, listing_id: z.int() }).meta({ id: 'PurchaseIntent' });
export const feeIntentOut = z.object({ ...intentFields, listing_id: z.null() }).meta({ id: 'FeeIntent' });

const intentBody = z
  .strictObject({
    payer_wallet: addressIn
      .optional()
      .describe(
        'name a contract wallet, so that its signature can be checked first; also needed to find payments that this market has lost',
      ),
    pay_anew: payAnewIn,
    intent_id: intentId.optional().describe('an open intent whose payer_signature is to be checked before money moves'),
    payer_signature: signatureIn.optional().describe('signature of the challenge of intent_id'),
  })
  .refine(({ intent_id, payer_signature }) => (intent_id === undefined) === (payer_signature === undefined), {
    path: ['payer_signature'],
    message: 'must be sent together with intent_id',
  })
  .refine(({ intent_id, payer_wallet }) => intent_id === undefined || payer_wallet === undefined, {
    path: ['payer_wallet'],
    message: 'must be left out with intent_id, since the intent names it',
  });

const signatureCheckedOut = z
  .boolean()
  .nullable()
  .describe('whether payer_signature is valid right now; the claim checks it again. null: none was sent');

/** Answer to a claim that names no transaction. */
const signatureCheck = z
  .object({
    signature_checked: signatureCheckedOut.unwrap(),
    signer: addressOut.nullable().describe('the wallet that signed; the transfer must come from it'),
    intent_id: intentId,
    expires_at: timeOut,
    next_step: z.string(),
    do_not_pay_again: z.literal(false),
  })
  .meta({ id: 'SignatureCheck' });

export const openPurchaseIntent = endpoint({
  name: 'openPurchaseIntent',
  method: 'POST',
  path: '/api/purchase-intent/:id',
  summary: 'Open or reread an intent: for ten minutes, a plain USDC transfer buys this listing.',
  auth: 'key',
  params: idParam,
  body: intentBody,
  body_optional: true,
  answers: {
    200: z.object({ purchase_intent: purchaseIntentOut, signature_checked: signatureCheckedOut.optional() }),
    201: z.object({ purchase_intent: purchaseIntentOut, signature_checked: signatureCheckedOut.optional() }),
  },
  errors: [
    'listing_unavailable',
    'listing_lost',
    'own_goods',
    'checkout_needed',
    'free_listing',
    'purchase_exists',
    'payment_undecided',
    'other_payer_open',
    'intent_not_found',
    'intent_changed',
    'payment_may_be_lost',
    'payee_cannot_receive',
    'usdc_paused',
    'payment_check_unavailable',
    'chain_clock',
  ],
  cache: 'private',
});

export const openFeeIntent = endpoint({
  name: 'openFeeIntent',
  method: 'POST',
  path: '/api/fee-intent',
  summary: 'Open or reread an intent: for ten minutes, a plain USDC transfer to the treasury pays a listing fee.',
  auth: 'key',
  body: intentBody,
  body_optional: true,
  answers: {
    200: z.object({ fee_intent: feeIntentOut, signature_checked: signatureCheckedOut.optional() }),
    201: z.object({ fee_intent: feeIntentOut, signature_checked: signatureCheckedOut.optional() }),
  },
  errors: [
    'fee_not_due',
    'too_many_open_fees',
    'other_payer_open',
    'intent_not_found',
    'intent_changed',
    'payment_undecided',
    'payment_may_be_lost',
    'payee_cannot_receive',
    'usdc_paused',
    'payment_check_unavailable',
    'chain_clock',
  ],
  cache: 'private',
});

export const claimPurchase = endpoint({
  name: 'claimPurchase',
  method: 'POST',
  path: '/api/claim/:id',
  summary:
    'Claim goods after you sent a transfer. Repeat the claim until it is decided. Without tx_hash, only the signature is checked.',
  auth: 'key',
  params: idParam,
  body: claimBody.partial({ tx_hash: true }),
  answers: { 200: z.union([delivery, signatureCheck]), 202: pendingAnswer },
  errors: [
    ...CLAIM_ERRORS,
    ...([
      'purchase_exists',
      'listing_lost',
      'own_goods',
      'already_bought',
      'paid_after_removal',
      'goods_erased',
    ] as const),
  ],
  cache: 'private',
  claim: true,
  bytes: true,
});

export const reviewPayment = endpoint({
  name: 'reviewPayment',
  method: 'POST',
  path: '/api/review/:payment_id',
  summary: 'Decide a payment in review: the seller for a purchase, the maintainer for a listing fee.',
  auth: 'key',
  params: z.strictObject({ payment_id: idParam.shape.id }),
  body: z
    .strictObject({
      outcome: z.enum(['deliver', 'refunded', 'declined']),
      tx_hash: hashIn.optional().describe('the refund; only with refunded'),
      note: publicText(0, 500, { multiline: true }).optional(),
    })
    .refine(({ outcome, tx_hash }) => (outcome === 'refunded') === (tx_hash !== undefined), {
      path: ['tx_hash'],
      message: 'must be sent with outcome refunded, and only with it',
    }),
  answers: { 200: z.object({ payment: paymentOut }) },
  errors: [
    'payment_not_found',
    'already_decided',
    'not_deliverable',
    'refund_not_final',
    'refund_not_found',
    'transaction_used',
    'payment_preserved',
  ],
  cache: 'private',
});
