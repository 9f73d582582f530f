import type { ErrorRow } from './error-row.ts';

/** What is refused about transfers: opening an intent, claiming one, deciding on what did not fit. */
export const directErrors = {
  // Intents
  free_listing: {
    status: 409,
    title: 'This listing is free',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'Take it with POST /api/buy/:id. No payment is needed.',
  },
  purchase_exists: {
    status: 409,
    title: 'These goods are bought already',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'Collect them with POST /api/buy/:id. Do not pay again.',
  },
  payment_undecided: {
    status: 409,
    title: 'A payment for this is undecided',
    retry: 'same_request',
    do_not_pay_again: true,
    next_step: 'Follow the payment named in payment, or claim the intent named in intent_id. Do not pay again.',
  },
  other_payer_open: {
    status: 409,
    title: 'An intent with another payer wallet is open',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Use the open intent, name its wallet, or wait until it is over.',
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
    title: 'The chain and the clock of the market disagree on the time',
    retry: 'same_request',
    do_not_pay_again: false,
    next_step: 'Nothing was opened. Try again when the chain moves on.',
  },
  // Claims
  intent_not_found: {
    status: 404,
    title: 'There is no such intent',
    retry: 'after_fix',
    do_not_pay_again: true,
    next_step:
      'Check intent_id, and claim with the key that opened it. If a transfer was sent for it, do not send another.',
  },
  intent_changed: {
    status: 409,
    title: 'That intent was made for something else',
    retry: 'after_fix',
    do_not_pay_again: true,
    next_step: 'Claim it at the listing for which it was opened.',
  },
  transaction_used: {
    status: 409,
    title: 'That transaction belongs to another payment',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'One transaction pays for one thing. If another one paid for this, claim that.',
  },
  signature_invalid: {
    status: 422,
    title: 'The signature is not one of the challenge',
    retry: 'after_fix',
    do_not_pay_again: true,
    next_step: 'Sign the exact challenge of the intent with personal_sign and the wallet that pays, and claim again.',
    of_proof: {
      status: 402,
      title: 'The proof was not signed by the key of the payer',
      do_not_pay_again: false,
      next_step: 'Nothing was stored or submitted. Sign what accepts asks for with the key of the paying wallet.',
    },
  },
  wrong_payer: {
    status: 422,
    title: 'The transfer came from another wallet than the one that signed',
    retry: 'after_fix',
    do_not_pay_again: true,
    next_step:
      'Sign the challenge with the wallet that sent it, a contract wallet in its own way (ERC-1271), and claim again. Do not pay again.',
  },
  transfer_not_found: {
    status: 422,
    title: 'That transaction holds no fitting transfer',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'If another transaction paid, claim that. Otherwise nothing was paid for this intent.',
  },
  payment_preserved: {
    status: 503,
    title: 'The chain cannot be read now',
    retry: 'same_request',
    do_not_pay_again: true,
    next_step: 'Nothing is lost: send the same claim again. Do not pay again.',
  },
  // The payee has the money, and a person decides
  amount_too_little: {
    status: 422,
    title: 'Less than the price was paid',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'The payee decides. Do not pay again.',
  },
  outside_window: {
    status: 422,
    title: 'The transfer lies outside the time of the intent',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'The payee decides. Do not pay again.',
  },
  authorized_transfer: {
    status: 422,
    title: 'The transfer was made through an authorization',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'The payee decides. A direct payment is a plain transfer. Do not pay again.',
  },
  already_bought: {
    status: 422,
    title: 'The goods were bought before this transfer was claimed',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'The payee decides. Collect the goods with POST /api/buy/:id. Do not pay again.',
  },
  paid_after_removal: {
    status: 422,
    title: 'The listing was removed before the transfer',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'The payee decides. Do not pay again.',
  },
  payer_unproven: {
    status: 422,
    title: 'The wallet of the intent did not sign, so the payee decides',
    retry: 'never',
    do_not_pay_again: true,
    next_step:
      'The payee decides, also about other claims of this transfer. A claim with the wallet’s own signature ends that at once. Do not pay again.',
  },
  too_many_unproven: {
    status: 409,
    title: 'Too many transfers without a signature wait for their payees',
    retry: 'same_request',
    do_not_pay_again: true,
    next_step: 'Send the same claim again once one of them is decided. Do not pay again.',
  },
  // Reviews
  already_decided: {
    status: 409,
    title: 'This payment is not in review any more',
    retry: 'never',
    next_step: 'GET /api/payment shows what was decided.',
  },
  not_deliverable: {
    status: 409,
    title: 'This payment cannot be taken as paid',
    retry: 'after_fix',
    next_step: 'Decide on refunded or declined.',
  },
  refund_not_final: {
    status: 409,
    title: 'The refund is not final yet',
    retry: 'same_request',
    next_step: 'Send the same request again when its block is final.',
  },
  refund_not_found: {
    status: 422,
    title: 'That transaction is no refund of this payment',
    retry: 'after_fix',
    next_step: 'It has to be a transfer of at least the amount from the payee to the payer, after the payment.',
  },
} as const satisfies Record<string, ErrorRow>;
