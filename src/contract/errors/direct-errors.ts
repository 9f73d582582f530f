import type { ErrorRow } from './error-row.ts';

/** Errors of payments by transfer: intents, claims and reviews. */
export const directErrors = {
  // Intents
  free_listing: {
    status: 409,
    title: 'This listing is free',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'Collect it with POST /api/buy/:id. No payment is needed.',
  },
  purchase_exists: {
    status: 409,
    title: 'You have already bought these goods',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'Collect them with POST /api/buy/:id. Do not pay again.',
  },
  payment_undecided: {
    status: 409,
    title: 'A payment for this is still undecided',
    retry: 'same_request',
    do_not_pay_again: true,
    next_step: 'Follow the payment named in payment, or claim the intent named in intent_id. Do not pay again.',
  },
  other_payer_open: {
    status: 409,
    title: 'An intent with another payer wallet is open',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Use the open intent, name its wallet, or wait until it ends.',
  },
  fee_not_due: {
    status: 409,
    title: 'No listing fee is due',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'Send POST /api/listing, or POST /api/world/listing, without a payment.',
  },
  chain_clock: {
    status: 503,
    title: 'The chain and the market disagree about the time',
    retry: 'same_request',
    do_not_pay_again: false,
    next_step: 'Nothing was opened. Try again once the chain has new blocks.',
  },
  // Claims
  intent_not_found: {
    status: 404,
    title: 'This intent was not found',
    retry: 'after_fix',
    do_not_pay_again: true,
    next_step:
      'Check intent_id, and claim with the key that opened it. If you sent a transfer for it, do not send another.',
  },
  intent_changed: {
    status: 409,
    title: 'That intent was opened for something else',
    retry: 'after_fix',
    do_not_pay_again: true,
    next_step: 'Claim it at the listing it was opened for. Do not pay again.',
  },
  transaction_used: {
    status: 409,
    title: 'That transaction belongs to another payment',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'One transaction pays for one thing. If another transaction paid for this, claim that one.',
  },
  signature_invalid: {
    status: 422,
    title: 'The signature does not match the challenge',
    retry: 'after_fix',
    do_not_pay_again: true,
    next_step: 'Sign the exact challenge of the intent with personal_sign and the paying wallet, then claim again.',
    of_proof: {
      status: 402,
      title: 'The payer’s key did not sign this proof',
      do_not_pay_again: false,
      next_step: 'Nothing was stored or submitted. Sign what accepts asks for with the key of the paying wallet.',
    },
  },
  wrong_payer: {
    status: 422,
    title: 'The wallet that signed did not send the transfer',
    retry: 'after_fix',
    do_not_pay_again: true,
    next_step:
      'Sign the challenge with the wallet that sent it, and claim again. A contract wallet signs by ERC-1271. Do not pay again.',
  },
  transfer_not_found: {
    status: 422,
    title: 'That transaction holds no matching transfer',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'If another transaction paid, claim that one. Otherwise nothing was paid for this intent.',
  },
  payment_preserved: {
    status: 503,
    title: 'The chain cannot be read right now',
    retry: 'same_request',
    do_not_pay_again: true,
    next_step: 'Nothing is lost: send the same claim again. Do not pay again.',
  },
  // The payee has the money and has to decide
  amount_too_little: {
    status: 422,
    title: 'The transfer was less than the price',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'The payee decides what happens with the transfer. Do not pay again.',
  },
  outside_window: {
    status: 422,
    title: 'The transfer was made outside the time of the intent',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'The payee decides what happens with the transfer. Do not pay again.',
  },
  authorized_transfer: {
    status: 422,
    title: 'The transfer was made through an authorization',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'A direct payment has to be a plain transfer, so the payee decides. Do not pay again.',
  },
  already_bought: {
    status: 422,
    title: 'The goods were already bought when this transfer was claimed',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'Collect the goods with POST /api/buy/:id. The payee decides about this transfer. Do not pay again.',
  },
  paid_after_removal: {
    status: 422,
    title: 'The listing was removed before the transfer',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'The payee decides what happens with the transfer. Do not pay again.',
  },
  payer_unproven: {
    status: 422,
    title: 'The wallet of the intent did not sign, so the payee decides',
    retry: 'never',
    do_not_pay_again: true,
    next_step:
      'The payee also decides about other claims of this transfer. A claim signed by that wallet ends the review at once. Do not pay again.',
  },
  too_many_unproven: {
    status: 409,
    title: 'Too many of your transfers without a signature wait for their payees',
    retry: 'same_request',
    do_not_pay_again: true,
    next_step: 'Send the same claim again once one of them is decided. Do not pay again.',
  },
  // Reviews
  already_decided: {
    status: 409,
    title: 'This payment is no longer in review',
    retry: 'never',
    next_step: 'GET /api/payment shows the decision.',
  },
  not_deliverable: {
    status: 409,
    title: 'This payment cannot be accepted as paid',
    retry: 'after_fix',
    next_step: 'Choose refunded or declined instead.',
  },
  refund_not_final: {
    status: 409,
    title: 'The refund is not final yet',
    retry: 'same_request',
    next_step: 'Send the same request again once its block is final.',
  },
  refund_not_found: {
    status: 422,
    title: 'That transaction is not a refund of this payment',
    retry: 'after_fix',
    next_step: 'A refund is a transfer from the payee to the payer, made after the payment, of at least the amount.',
  },
} as const satisfies Record<string, ErrorRow>;
