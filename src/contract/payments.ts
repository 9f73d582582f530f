import { z } from 'zod';
import { addressIn, addressOut, hashIn, hashOut } from './chain-values.ts';
import { endpoint } from './endpoint.ts';
import { usdcOut } from './money.ts';
import { idCursor, idOut, pageSize, timeOut } from './paging.ts';
import { PAGE_SIZES, PAYMENT_PURPOSES } from './vocabulary.ts';

/** Public status of one payment. Never the artifact, a signature or who bought. */
export const paymentOut = z
  .object({
    id: idOut,
    purpose: z.enum(PAYMENT_PURPOSES),
    payment_status: z.enum(['unsubmitted', 'payment_pending', 'completed', 'unpaid', 'rejected', 'needs_review']),
    outcome: z.string().optional().describe('why a payment ended as unpaid or rejected'),
    stage: z.enum(['received', 'verifying', 'settling', 'mined', 'finalized', 'delivered']),
    listing_id: z.int().nullable(),
    tx_hash: hashOut.nullable(),
    block_number: z.int().nullable(),
    block_time: timeOut.nullable(),
    finalized_head: z.int().nullable(),
    payment_ends_at: timeOut.nullable(),
    next_step: z.string(),
    do_not_pay_again: z.boolean(),
    updated_at: timeOut,
  })
  .meta({ id: 'Payment' });
export type PaymentOut = z.output<typeof paymentOut>;

/** What stands on the chain for a purchase. */
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
    amount_units: z.string(),
    network: z.string(),
  })
  .meta({ id: 'Receipt' });

export const getPayment = endpoint({
  name: 'getPayment',
  method: 'GET',
  path: '/api/payment',
  summary: 'Where a payment stands, by exactly one of tx_hash, or payer with nonce.',
  auth: 'audit',
  query: z
    .strictObject({
      tx_hash: hashIn.optional(),
      payer: addressIn.optional(),
      nonce: hashIn.optional(),
    })
    .refine(
      ({ tx_hash, payer, nonce }) =>
        tx_hash === undefined ? payer !== undefined && nonce !== undefined : payer === undefined && nonce === undefined,
      'give either tx_hash, or payer and nonce',
    ),
  answers: { 200: z.object({ payment: paymentOut }) },
  errors: ['payment_not_found', 'read_unavailable'],
  cache: 'private',
});

export const getTreasury = endpoint({
  name: 'getTreasury',
  method: 'GET',
  path: '/treasury',
  summary: 'The books of the listing fees, newest first.',
  auth: 'audit',
  query: z.strictObject({
    limit: pageSize(PAGE_SIZES.treasury),
    before_id: idCursor,
  }),
  answers: {
    200: z.object({
      address: addressOut,
      network: z.string(),
      recent_fees: z.array(
        z.object({
          id: idOut,
          listing_id: z.int().nullable().describe('null while the fee is a credit that no listing has spent'),
          merchant: z.string(),
          amount_usdc: usdcOut,
          tx_hash: hashOut,
          verified_via: z.enum(['x402', 'direct']),
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
      usdc_balance_onchain: usdcOut.nullable().describe('null while the chain cannot be read'),
    }),
  },
  errors: ['cursor_invalid', 'read_unavailable'],
  cache: 'public',
});
