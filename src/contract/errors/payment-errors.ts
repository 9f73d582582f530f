import type { ErrorRow } from './error-row.ts';

export const paymentErrors = {
  // Proofs, terms and settlement
  payment_required: {
    status: 402,
    title: 'Payment is required',
    retry: 'same_request',
    do_not_pay_again: false,
    next_step: 'Sign one of the offers in `accepts`, then send the same request again with the proof.',
  },
  payment_invalid: {
    status: 402,
    title: 'The terms or times of the payment proof are wrong',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Nothing was submitted. Sign one of `accepts`, then send the same request with the new proof.',
  },
  payer_contract_refused: {
    status: 402,
    title: 'The code at the payer’s address rejected the signature',
    retry: 'never',
    do_not_pay_again: false,
    next_step:
      'Nothing was stored or submitted, and this proof will never be accepted. Pay from another wallet, or by a transfer: send payer_wallet to POST /api/purchase-intent/:id, or to POST /api/fee-intent for a fee.',
  },
  payer_not_deployed: {
    status: 402,
    title: 'The paying wallet is not deployed, so USDC cannot check its signature (ERC-6492)',
    retry: 'never',
    do_not_pay_again: false,
    next_step:
      'Nothing was stored or submitted, and this proof will never be accepted. Deploy the wallet and sign again, or use another wallet. You can also pay by a transfer: send payer_wallet to POST /api/purchase-intent/:id, or to POST /api/fee-intent for a fee.',
  },
  insufficient_funds: {
    status: 402,
    title: 'The paying wallet does not have enough USDC',
    retry: 'same_proof',
    do_not_pay_again: false,
    next_step:
      'Nothing was stored or submitted. Fund the wallet, then send the same request with the same proof before it expires.',
  },
  payment_rejected: {
    status: 402,
    title: 'This payment cannot be settled right now',
    retry: 'same_proof',
    do_not_pay_again: true,
    next_step:
      'Fix the problem described in `detail` and send the same proof. Or wait for Retry-After: this attempt has then ended unpaid, and you can sign a new payment. Do not pay again before then.',
  },
  authorization_lapsed: {
    status: 402,
    title: 'That authorization can no longer be used',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'No money was taken, and that authorization can no longer take any. Sign a new one to pay.',
  },
  authorization_used_elsewhere: {
    status: 409,
    title: 'That authorization was already used or cancelled',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'It was not spent on this purchase. Find out where you used it before you sign another.',
  },
  payment_may_be_lost: {
    status: 409,
    title: 'The chain shows a matching transfer that this market has no record of',
    retry: 'after_fix',
    do_not_pay_again: true,
    next_step:
      'Nothing was stored or submitted, but this market lost some of its records, so check what `tx_hash` paid for. If it was this purchase, do not pay again: send your recovery slip in X-Recovery-Slip, or {"collect": true, "collect_salt", "tx_hash"} with a collecting signature and your key, and the payee then decides whether to deliver. If it was something else, send the same request with {"pay_anew": true}.',
  },
  listing_lost: {
    status: 409,
    title: 'This market has lost its record of this listing',
    retry: 'never',
    do_not_pay_again: true,
    next_step:
      'If you paid for it, the payee has the money, so do not pay again. Ask the seller for the id of the new listing, and send that listing {"collect": true, "collect_salt", "tx_hash"} with a collecting signature and your key. The payee then decides whether to deliver.',
  },
  payment_bound_elsewhere: {
    status: 409,
    title: 'That proof was already sent for something else',
    retry: 'never',
    do_not_pay_again: true,
    next_step:
      'Send it again only for what it was first sent for: the same listing, or a new listing with exactly the same fields.',
  },
  price_above_limit: {
    status: 409,
    title: 'The price is above max_price_usdc',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Raise max_price_usdc if you accept the price.',
  },
  payee_cannot_receive: {
    status: 409,
    title: 'The payee cannot receive USDC',
    retry: 'never',
    do_not_pay_again: false,
    next_step: 'No money was taken. The USDC contract blocks the payee’s wallet, so this payment cannot be made.',
  },
  x402_not_offered: {
    status: 409,
    title: 'This payment cannot be made by x402',
    retry: 'never',
    do_not_pay_again: false,
    next_step: 'Pay by a transfer instead: open an intent with POST /api/purchase-intent/:id.',
  },
  settlement_unavailable: {
    status: 503,
    title: 'x402 payments cannot be settled right now',
    retry: 'same_request',
    do_not_pay_again: false,
    next_step: 'No money was taken. Sign nothing now. Try again after Retry-After, or pay by a transfer.',
  },
  usdc_paused: {
    status: 503,
    title: 'USDC transfers are paused',
    retry: 'same_request',
    do_not_pay_again: false,
    next_step: 'No money was taken. Try again later.',
  },
  payment_check_unavailable: {
    status: 503,
    title: 'The chain cannot be read right now',
    retry: 'same_proof',
    do_not_pay_again: false,
    next_step: 'Nothing was stored or submitted. Send the same request again, with the same proof if you sent one.',
  },
  // Progress of a payment, and collecting the goods
  listing_changed: {
    status: 409,
    title: 'The listing was edited before the payment was submitted',
    retry: 'same_request',
    do_not_pay_again: true,
    next_step:
      'This payment will not be submitted. Do not pay again before Retry-After has passed. Then read the listing and sign a new payment.',
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
    title: 'The payment was submitted but has not been seen on the chain yet',
    retry: 'same_proof',
    do_not_pay_again: true,
    next_step: 'Send the same request with the same proof again. Do not pay again.',
  },
  facilitator_refused: {
    status: 503,
    title: 'The facilitator refused the payment, but our own check does not confirm the refusal',
    retry: 'same_proof',
    do_not_pay_again: true,
    next_step: 'Wait for Retry-After, then send the same proof again. Do not pay again.',
  },
  sign_to_collect: {
    status: 409,
    title: 'The goods are paid for, but the payer must sign to collect them',
    retry: 'after_fix',
    do_not_pay_again: true,
    next_step:
      'Send {"collect": true}, and sign the zero-value authorization in `collect` of the answer, which moves no money. Then send the signature with {"collect": true, "collect_salt"}. Do not pay again.',
  },
  collect_signature_used: {
    status: 409,
    title: 'That collecting signature was already used',
    retry: 'after_fix',
    do_not_pay_again: true,
    next_step: 'Choose a new collect_salt and sign again, which moves no money. Do not pay again.',
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
    title: 'The payment arrived, and the seller must decide about it',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'Do not pay again. GET /api/payment shows the decision once it is made.',
  },
} as const satisfies Record<string, ErrorRow>;
