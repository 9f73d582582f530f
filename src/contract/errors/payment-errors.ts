import type { ErrorRow } from './error-row.ts';

/** What is refused about money: first where nothing was stored, then once a row exists. */
export const paymentErrors = {
  // Payment: before anything is stored
  payment_required: {
    status: 402,
    title: 'Payment is required',
    retry: 'same_request',
    do_not_pay_again: false,
    next_step: 'Sign one of accepts and send the same request again with the proof.',
  },
  payment_invalid: {
    status: 402,
    title: 'The terms or times of the payment proof do not fit',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Nothing was submitted. Sign what accepts asks for, then send the same request.',
  },
  payer_contract_refused: {
    status: 402,
    title: 'The code at the payer’s address did not accept the signature',
    retry: 'never',
    do_not_pay_again: false,
    next_step:
      'Nothing was stored or submitted, and this proof will not be taken. Pay by a transfer: POST /api/purchase-intent/:id, or POST /api/fee-intent for a fee, with payer_wallet. Or pay with another wallet.',
  },
  payer_not_deployed: {
    status: 402,
    title: 'The paying wallet is not deployed, so USDC cannot ask it (ERC-6492)',
    retry: 'never',
    do_not_pay_again: false,
    next_step:
      'Nothing was stored or submitted, and this proof will not be taken. Deploy the wallet and sign again, pay by a transfer (POST /api/purchase-intent/:id, or POST /api/fee-intent for a fee, with payer_wallet), or pay with another wallet.',
  },
  insufficient_funds: {
    status: 402,
    title: 'The paying wallet holds too little USDC',
    retry: 'same_proof',
    do_not_pay_again: false,
    next_step:
      'Nothing was stored or submitted. Fund the wallet, then send the same request with the same proof while it is good.',
  },
  payment_rejected: {
    status: 402,
    title: 'This payment cannot be settled now',
    retry: 'same_proof',
    do_not_pay_again: true,
    next_step:
      'Mend what detail names and send the same proof, or wait for Retry-After: then the attempt has ended unpaid.',
  },
  authorization_lapsed: {
    status: 402,
    title: 'That payment ended unpaid',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Nothing was taken and nothing can be any more. Sign a new authorization to buy.',
  },
  authorization_used_elsewhere: {
    status: 409,
    title: 'That authorization was already used or cancelled',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'It was not spent on this purchase here. Check where you used it before you sign another.',
  },
  payment_may_be_lost: {
    status: 409,
    title: 'The chain shows such a transfer, and it is in no book',
    retry: 'after_fix',
    do_not_pay_again: true,
    next_step:
      'Nothing was stored or submitted. This market lost some of its books: look what tx_hash paid for. If that was this purchase, do not pay again: send the recovery slip of its answers in X-Recovery-Slip; or {"collect": true, "collect_salt", "tx_hash"} with a collecting signature and your key, and the payee decides. If it was something else, send the same request with {"pay_anew": true}.',
  },
  listing_lost: {
    status: 409,
    title: 'This listing is gone from the books of this market',
    retry: 'never',
    do_not_pay_again: true,
    next_step:
      'If you paid for it, the payee has the money: ask the seller under which id the goods are listed now, and at that listing send {"collect": true, "collect_salt", "tx_hash"} with a collecting signature and your key. The payee decides. Do not pay again.',
  },
  payment_bound_elsewhere: {
    status: 409,
    title: 'That proof was sent for something else before',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'Send it only for that listing, or with those very fields of a new one, for which it was first sent.',
  },
  price_above_limit: {
    status: 409,
    title: 'The price is above max_price_usdc',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Raise max_price_usdc if the price is acceptable.',
  },
  payee_cannot_receive: {
    status: 409,
    title: 'The payee cannot receive USDC',
    retry: 'never',
    do_not_pay_again: false,
    next_step: 'Nothing was taken. The wallet is blocked by the USDC contract; try again once that has ended.',
  },
  x402_not_offered: {
    status: 409,
    title: 'x402 is not offered for this payment',
    retry: 'never',
    do_not_pay_again: false,
    next_step: 'Open a purchase intent with POST /api/purchase-intent/:id and pay by a transfer.',
  },
  settlement_unavailable: {
    status: 503,
    title: 'No payment by x402 can be settled now',
    retry: 'same_request',
    do_not_pay_again: false,
    next_step: 'Nothing was taken. Sign nothing now: come back after Retry-After, or pay by a transfer.',
  },
  usdc_paused: {
    status: 503,
    title: 'USDC transfers are paused',
    retry: 'same_request',
    do_not_pay_again: false,
    next_step: 'Nothing was taken. Try again later.',
  },
  payment_check_unavailable: {
    status: 503,
    title: 'The chain cannot be read now',
    retry: 'same_proof',
    do_not_pay_again: false,
    next_step: 'Nothing was stored or submitted. Send the same request again, with the same proof if there was one.',
  },
  // Payment: once a row exists
  listing_changed: {
    status: 409,
    title: 'The listing was edited before the payment was submitted',
    retry: 'same_request',
    do_not_pay_again: true,
    next_step:
      'It will not be submitted. Wait for Retry-After, then read the listing and begin again: a new payment may be signed then.',
  },
  verification_pending: {
    status: 503,
    title: 'The facilitator has not verified the payment yet',
    retry: 'same_proof',
    do_not_pay_again: true,
    next_step: 'Send the same request with the same proof again. Do not pay again.',
  },
  settlement_pending: {
    status: 503,
    title: 'The payment was submitted and is not seen on the chain yet',
    retry: 'same_proof',
    do_not_pay_again: true,
    next_step: 'Send the same request with the same proof again. Do not pay again.',
  },
  facilitator_refused: {
    status: 503,
    title: 'The facilitator refused, and our own reading does not confirm it',
    retry: 'same_proof',
    do_not_pay_again: true,
    next_step: 'Wait for Retry-After and send the same proof again. Do not pay again.',
  },
  sign_to_collect: {
    status: 409,
    title: 'The goods are paid for; the payer has to sign to collect them',
    retry: 'after_fix',
    do_not_pay_again: true,
    next_step:
      'Ask for the goods with {"collect": true, "collect_salt"} and an authorization of value 0, made as `collect` in the answer to {"collect": true} alone says: it moves no money. Do not pay again.',
  },
  collect_signature_used: {
    status: 409,
    title: 'That collecting signature was used already',
    retry: 'after_fix',
    do_not_pay_again: true,
    next_step: 'Choose a new collect_salt and sign again: it moves no money. Do not pay again.',
  },
  delivery_token_used: {
    status: 409,
    title: 'That delivery token belongs to another payment',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step:
      'Nothing was stored or submitted. Make a new token for X-Delivery-Token and send the same proof with it.',
  },
  needs_review: {
    status: 422,
    title: 'The payment arrived and needs a decision by the seller',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'Do not pay again. GET /api/payment shows the decision once it is made.',
  },
} as const satisfies Record<string, ErrorRow>;
