import type { ErrorRow } from './error-row.ts';

/** Errors of payments by transfer: intents, claims and reviews. */
export const directErrors = {
  // Intents
  free_listing: {
    status: 409,
    title: 'This listing is free',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'No payment is needed. Collect the goods with POST /api/buy/:id.',
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
    next_step: 'Follow the payment in `payment`, or claim the intent in `intent_id`. Do not pay again.',
  },
  other_payer_open: {
    status: 409,
    title: 'You already have an open intent for a different wallet',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Use the open intent, send its wallet as `payer_wallet`, or wait until it ends.',
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
    next_step: 'Nothing was changed. Try again once the chain has new blocks.',
  },
  // Claims
  intent_not_found: {
    status: 404,
    title: 'This intent was not found',
    retry: 'after_fix',
    do_not_pay_again: true,
    next_step:
      'Check `intent_id`, and claim with the key that opened the intent. If you sent a transfer for it, do not send another.',
  },
  intent_changed: {
    status: 409,
    title: 'That intent was opened for something else',
    retry: 'after_fix',
    do_not_pay_again: true,
    next_step: 'Claim it for the listing it was opened for. Do not pay again.',
  },
  transaction_used: {
    status: 409,
    title: 'That transaction belongs to another payment',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'A transaction can pay only once. If another transaction paid for this, claim with that one.',
  },
  signature_invalid: {
    status: 422,
    title: 'The signature does not match the challenge',
    retry: 'after_fix',
    do_not_pay_again: true,
    next_step: 'Sign the exact challenge of the intent with the paying wallet (personal_sign), then claim again.',
    of_proof: {
      status: 402,
      title: 'The payer’s key did not sign this proof',
      do_not_pay_again: false,
      next_step:
        'Nothing was stored or submitted. Sign one of the offers in `accepts` with the key of the paying wallet.',
    },
  },
  wrong_payer: {
    status: 422,
    title: 'The wallet that signed did not send the transfer',
    retry: 'after_fix',
    do_not_pay_again: true,
    next_step:
      'Sign the challenge with the wallet that sent the transfer, then claim again. A contract wallet signs by ERC-1271. Do not pay again.',
  },
  transfer_not_found: {
    status: 422,
    title: 'That transaction contains no matching transfer',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'If another transaction paid, claim with that one. Otherwise nothing was paid for this intent.',
  },
  payment_preserved: {
    status: 503,
    title: 'The chain cannot be read right now',
    retry: 'same_request',
    do_not_pay_again: true,
    next_step: 'Nothing is lost. Send the same claim again. Do not pay again.',
  },
  // Claims that the payee must decide, because the money has arrived
  amount_too_little: {
    status: 422,
    title: 'The transfer was for less than the price',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'The payee decides what happens to the transfer. Do not pay again.',
  },
  outside_window: {
    status: 422,
    title: 'The transfer was made outside the time window of the intent',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'The payee decides what happens to the transfer. Do not pay again.',
  },
  authorized_transfer: {
    status: 422,
    title: 'The transfer was made through an authorization',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'Only plain transfers are accepted, so the payee decides what happens to this one. Do not pay again.',
  },
  already_bought: {
    status: 422,
    title: 'The goods were already bought when this transfer was claimed',
    retry: 'never',
    do_not_pay_again: true,
    next_step:
      'Collect the goods with POST /api/buy/:id. The payee decides what happens to this transfer. Do not pay again.',
  },
  paid_after_removal: {
    status: 422,
    title: 'The listing was removed before the transfer',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'The payee decides what happens to the transfer. Do not pay again.',
  },
  payer_unproven: {
    status: 422,
    title: 'The intent’s wallet did not sign, so the payee decides',
    retry: 'never',
    do_not_pay_again: true,
    next_step:
      'The payee also decides about other claims to this transfer. A claim signed by the intent’s wallet ends the review at once. Do not pay again.',
  },
  too_many_unproven: {
    status: 409,
    title: 'Too many of your unsigned transfers are still awaiting the payee’s decision',
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
    next_step: 'Choose `refunded` or `declined` instead.',
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
    next_step:
      'Send the hash of a transfer from the payee to the payer, made after the payment and for at least the same amount.',
  },
} as const satisfies Record<string, ErrorRow>;
