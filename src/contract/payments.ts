import { z } from 'zod';
import { codeOut, networkOut, unitsOut } from './answer-forms.ts';
import { addressIn, addressOut, hashIn, hashOut } from './chain-values.ts';
import { endpoint } from './endpoint.ts';
import { usdcOut } from './money.ts';
import { idCursor, idOut, pageSize, timeOut } from './paging.ts';
import { PAGE_SIZES, PAYMENT_PURPOSES, PAYMENT_WAY_NAMES } from './vocabulary.ts';

/** 128 random bits in hex. */
export const intentId = z.string().regex(/^[0-9a-f]{32}$/, 'must be 32 lower-case hex digits');

/** Checks only the format; the signature itself is verified with the challenge. A contract wallet's signature may be long. */
export const signatureIn = z.string().regex(/^0x(?:[0-9a-fA-F]{2}){1,4096}$/, 'must be 0x and 2 to 8192 hex digits');

/** Proves that a transfer was made for an intent, and by whom. */
export const claimBody = z.strictObject({ intent_id: intentId, tx_hash: hashIn, payer_signature: signatureIn });
export type ClaimBody = z.output<typeof claimBody>;

/** Reasons for which any claim may be refused. */
export const CLAIM_ERRORS = [
  'intent_not_found',
  'intent_changed',
  'transaction_used',
  'payment_undecided',
  'signature_invalid',
  'wrong_payer',
  'transfer_not_found',
  'amount_too_little',
  'outside_window',
  'authorized_transfer',
  'payer_unproven',
  'too_many_unproven',
  'payment_preserved',
] as const;

/** Opaque text. The payer keeps it and sends it in X-Recovery-Slip if the market has lost the payment. */
export const recoverySlip = z
  .string()
  .describe(
    'keep it with the proof; if the market loses its history, send it in X-Recovery-Slip with the same request',
  );

/** Reasons for which any x402 payment may be refused. */
export const X402_ERRORS = [
  'payment_required',
  'payment_invalid',
  'signature_invalid',
  'payer_contract_refused',
  'payer_not_deployed',
  'insufficient_funds',
  'payment_rejected',
  'authorization_lapsed',
  'authorization_used_elsewhere',
  'payment_bound_elsewhere',
  'payment_may_be_lost',
  'payee_cannot_receive',
  'x402_not_offered',
  'settlement_unavailable',
  'usdc_paused',
  'payment_check_unavailable',
  'chain_clock',
  'verification_pending',
  'settlement_pending',
  'facilitator_refused',
  'needs_review',
  'malformed_proof',
  'two_proofs',
] as const;

/** Field of every body that opens a payment. */
export const payAnewIn = z
  .boolean()
  .optional()
  .describe(
    'only after payment_may_be_lost; true: the transfer found on the chain paid for something else, so pay for this too',
  );

/** Public status of a payment. It never shows the artifact, a signature or the buyer. */
export const paymentOut = z
  .object({
    id: idOut
      .nullable()
      .describe('null for an unclaimed intent, and for the sale of a thing, which is paid in its city'),
    purpose: z.enum(PAYMENT_PURPOSES),
    payment_status: z.enum(['unsubmitted', 'payment_pending', 'completed', 'unpaid', 'rejected', 'needs_review']),
    outcome: codeOut
      .optional()
      .describe('why the payment ended unpaid, is in review or was rejected; or the result of the review'),
    stage: z.enum(['received', 'verifying', 'settling', 'mined', 'finalized', 'delivered']),
    listing_id: z.int().nullable(),
    tx_hash: hashOut.nullable(),
    block_number: z.int().nullable(),
    block_time: timeOut.nullable(),
    finalized_head: z.int().nullable(),
    payment_ends_at: timeOut.nullable(),
    waits_for: z
      .object({ payment_id: idOut, tx_hash: hashOut })
      .optional()
      .describe('the payment that the payee has to decide before this transaction is considered'),
    next_step: z.string(),
    do_not_pay_again: z.boolean(),
    updated_at: timeOut,
  })
  .meta({ id: 'Payment' });
export type PaymentOut = z.output<typeof paymentOut>;

/** The transfer on the chain that paid for a purchase. */
export const receiptOut = z
  .object({
    payment_id: idOut,
    tx_hash: hashOut,
    block_number: z.int(),
    block_hash: hashOut,
    block_time: timeOut,
    payer: addressOut,
    payee: addressOut,
    asset: addressOut,
    amount_usdc: usdcOut,
    amount_units: unitsOut,
    network: networkOut,
  })
  .meta({ id: 'Receipt' });

export const getPayment = endpoint({
  name: 'getPayment',
  method: 'GET',
  path: '/api/payment',
  summary: 'Read the state of a payment, by exactly one of tx_hash, intent_id, or payer with nonce.',
  auth: 'audit',
  query: z
    .strictObject({
      tx_hash: hashIn.optional(),
      intent_id: intentId.optional(),
      payer: addressIn.optional(),
      nonce: hashIn.optional(),
    })
    .refine(
      ({ tx_hash, intent_id, payer, nonce }) =>
        (payer === undefined) === (nonce === undefined) &&
        [tx_hash, intent_id, payer].filter((filter) => filter !== undefined).length === 1,
      'give exactly one of tx_hash, intent_id, or payer with nonce',
    ),
  answers: { 200: z.object({ payment: paymentOut }) },
  errors: ['payment_not_found', 'read_unavailable'],
  cache: 'private',
});

export const getTreasury = endpoint({
  name: 'getTreasury',
  method: 'GET',
  path: '/treasury',
  summary: 'Read the listing fees received, newest first.',
  auth: 'audit',
  query: z.strictObject({
    limit: pageSize(PAGE_SIZES.treasury),
    before_id: idCursor,
  }),
  answers: {
    200: z.object({
      address: addressOut,
      network: networkOut,
      recent_fees: z.array(
        z.object({
          id: idOut,
          listing_id: z.int().nullable().describe('null while the fee is a credit that no listing has used'),
          merchant: z.string(),
          amount_usdc: usdcOut,
          tx_hash: hashOut,
          verified_via: z.enum(PAYMENT_WAY_NAMES),
          block_time: timeOut,
          created_at: timeOut,
        }),
      ),
      fees_count: z.int(),
      fees_returned: z.int(),
      fees_page_size: z.int(),
      fees_has_more: z.boolean(),
      fees_next_before_id: z.int().nullable(),
      fees_collected_usdc: usdcOut,
      usdc_balance_onchain: usdcOut.nullable().describe('null if the chain cannot be read'),
    }),
  },
  errors: ['cursor_invalid', 'read_unavailable'],
  cache: 'public',
});
