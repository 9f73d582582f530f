/**
 * The one table of errors (W2). Every reason that the service can answer stands here with its status, what to retry and whether
 * paying again is safe; the reference page and the OpenAPI document are made from it.
 */

export type Retry = 'same_request' | 'same_proof' | 'after_fix' | 'never';

export interface ErrorRow {
  status: 400 | 401 | 402 | 403 | 404 | 405 | 409 | 410 | 413 | 415 | 422 | 429 | 431 | 500 | 502 | 503;
  title: string;
  retry: Retry;
  /** On payment answers: true when a payment may exist. Undefined: the reason says nothing about payments. */
  do_not_pay_again?: boolean;
  next_step: string;
}

const rows = {
  // Shape of the request
  malformed_request: {
    status: 400,
    title: 'The request is not well-formed HTTP for this address',
    retry: 'after_fix',
    next_step: 'Send one valid HTTP/1.1 request to an address without #, and a body only where the route takes one.',
  },
  malformed_json: {
    status: 400,
    title: 'The body is not valid JSON',
    retry: 'after_fix',
    next_step: 'Send one JSON object in UTF-8 without repeated keys.',
  },
  invalid_fields: {
    status: 400,
    title: 'Some fields are not acceptable',
    retry: 'after_fix',
    next_step: 'Mend the fields named in errors and send the request again.',
  },
  unexpected_fields: {
    status: 400,
    title: 'The request carries fields that this route does not know',
    retry: 'after_fix',
    next_step: 'Leave out the fields named in errors.',
  },
  invalid_query: {
    status: 400,
    title: 'A query parameter is not acceptable',
    retry: 'after_fix',
    next_step: 'Mend the parameters named in errors; each may be given once.',
  },
  cursor_invalid: {
    status: 400,
    title: 'The cursor was not made for this walk',
    retry: 'after_fix',
    next_step: 'Start again without a cursor, or send the one from the last page with the same filters.',
  },
  cursor_expired: {
    status: 400,
    title: 'The cursor is older than 24 hours',
    retry: 'after_fix',
    next_step: 'Start the walk again without a cursor.',
  },
  secret_in_payload: {
    status: 400,
    title: 'The request carries a secret outside its own place',
    retry: 'after_fix',
    next_step: 'Treat that secret as leaked and rotate it; send keys only in the Authorization header.',
  },
  malformed_proof: {
    status: 400,
    title: 'The payment proof cannot be read',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Send base64 of the x402 payload in X-PAYMENT (v1) or PAYMENT-SIGNATURE (v2).',
  },
  two_proofs: {
    status: 400,
    title: 'More than one payment proof was sent',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Send one payment header, once.',
  },
  method_not_allowed: {
    status: 405,
    title: 'This address does not take that method',
    retry: 'after_fix',
    next_step: 'Use one of the methods in the Allow header.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    retry: 'after_fix',
    next_step: 'Send at most the bytes named in official facts.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body is not JSON',
    retry: 'after_fix',
    next_step: 'Send content-type application/json without a content encoding.',
  },
  headers_too_large: {
    status: 431,
    title: 'The headers are too large',
    retry: 'after_fix',
    next_step: 'Send at most 16,000 bytes of headers.',
  },
  // Who calls
  key_required: {
    status: 401,
    title: 'This route needs a merchant key',
    retry: 'after_fix',
    next_step: 'Send Authorization: Bearer with a merchant key, or open a store first.',
  },
  key_invalid: {
    status: 401,
    title: 'The merchant key is not valid here',
    retry: 'after_fix',
    next_step: 'Use the current key; if it is lost, recover it with a recovery code.',
  },
  maintainer_only: {
    status: 403,
    title: 'Only the maintainer may do this',
    retry: 'never',
    next_step: 'Ask the maintainer named in official facts.',
  },
  own_goods: {
    status: 403,
    title: 'A merchant does not buy its own goods',
    retry: 'never',
    next_step: 'Nothing to do: the goods are yours already.',
  },
  not_found: {
    status: 404,
    title: 'There is nothing at this address',
    retry: 'never',
    next_step: 'Check the address; GET / says where to begin.',
  },
  listing_unavailable: {
    status: 404,
    title: 'This listing is not for sale',
    retry: 'never',
    do_not_pay_again: false,
    next_step: 'Browse /api/shelves for what is for sale.',
  },
  listing_removed: {
    status: 404,
    title: 'The maintainer removed this listing before the payment was sent',
    retry: 'never',
    do_not_pay_again: false,
    next_step: 'Nothing was taken: the authorization is never submitted and lapses by itself.',
  },
  nothing_to_collect: {
    status: 404,
    title: 'That wallet has neither bought this listing nor begun to',
    retry: 'never',
    do_not_pay_again: false,
    next_step: 'Call without collect to buy.',
  },
  payment_not_found: {
    status: 404,
    title: 'No such payment is known',
    retry: 'same_request',
    do_not_pay_again: true,
    next_step: 'An absent record does not show that nothing was paid; check what you asked with.',
  },
  // Identity
  handle_taken: {
    status: 409,
    title: 'That handle, or one that looks like it, is taken',
    retry: 'after_fix',
    next_step: 'Confirm the same stage with another handle.',
  },
  handle_reserved: {
    status: 409,
    title: 'That handle is reserved',
    retry: 'after_fix',
    next_step: 'Choose a handle that none of the reserved words in official facts resembles.',
  },
  stage_closed: {
    status: 409,
    title: 'This stage is over',
    retry: 'never',
    next_step: 'Begin a new stage.',
  },
  retired_flow: {
    status: 410,
    title: 'The one-call flow is retired',
    retry: 'after_fix',
    next_step: 'Send {"action": "stage", ...} as described under identity.coding_client_doors in official facts.',
  },
  door_closed: {
    status: 503,
    title: 'This door is closed by the operator',
    retry: 'same_request',
    next_step: 'Look at identity in official facts for the doors that are open.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many calls',
    retry: 'same_request',
    next_step: 'Wait for the seconds in Retry-After, then send the same request.',
  },
  // Listings
  world_needs_draft: {
    status: 422,
    title: 'Things of the world aisle are listed through a draft',
    retry: 'never',
    next_step: 'Choose another aisle, or look at world in official facts.',
  },
  seller_wallet_refused: {
    status: 422,
    title: 'That wallet cannot be a seller wallet',
    retry: 'after_fix',
    next_step:
      'Use a wallet of your own that can receive USDC: not the zero address, the USDC contract or the treasury.',
  },
  wallet_in_use: {
    status: 409,
    title: 'That wallet already sells things of the other kind',
    retry: 'after_fix',
    next_step: 'Use another wallet for this listing.',
  },
  duplicate_listing: {
    status: 409,
    title: 'The same goods were listed within the last seven days',
    retry: 'after_fix',
    next_step: 'Nothing was taken. Change the goods, or wait until the other listing is older than seven days.',
  },
  too_many_open_fees: {
    status: 409,
    title: 'Too many listing fees of this merchant are undecided',
    retry: 'same_request',
    next_step: 'Wait until one of them has ended; GET /api/payment shows where each stands.',
  },
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
    title: 'The payment proof does not fit',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Nothing was submitted. Sign what accepts asks for, then send the same request.',
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
  payment_bound_elsewhere: {
    status: 409,
    title: 'That proof belongs to another request',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'Send it only to the listing or body for which it was first sent.',
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
    title: 'This price is below what x402 is offered for',
    retry: 'never',
    do_not_pay_again: false,
    next_step: 'Use a direct payment with a purchase intent, where official facts offer it.',
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
    title: 'The proof could not be checked',
    retry: 'same_proof',
    do_not_pay_again: false,
    next_step: 'Nothing was stored or submitted. Send the same request with the same proof again.',
  },
  // Payment: once a row exists
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
      'Call this route with {"collect": true} and no proof, and sign what is asked: it will not be settled. Do not pay again.',
  },
  needs_review: {
    status: 422,
    title: 'The payment arrived and needs a decision by the seller',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'Do not pay again. GET /api/payment shows the decision once it is made.',
  },
  // The service
  read_unavailable: {
    status: 503,
    title: 'This cannot be read now',
    retry: 'same_request',
    do_not_pay_again: true,
    next_step: 'This shows neither a payment nor its absence. Try again; do not pay on the strength of it.',
  },
  unavailable: {
    status: 503,
    title: 'The market cannot answer now',
    retry: 'same_request',
    next_step: 'Nothing is known to have changed. Send the same request again.',
  },
  internal_error: {
    status: 500,
    title: 'The market failed to handle this request',
    retry: 'same_request',
    next_step: 'Send the same request again; if it stays so, report request_id to the operator.',
  },
} as const satisfies Record<string, ErrorRow>;

export type Reason = keyof typeof rows;
export const ERRORS: Readonly<Record<Reason, ErrorRow>> = rows;
export const REASONS = Object.keys(rows) as Reason[];

export type ErrorClass =
  | 'bad_input'
  | 'auth_required'
  | 'payment_required'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'rate_limited'
  | 'market_fault';

const CLASSES: Readonly<Record<ErrorRow['status'], ErrorClass>> = {
  400: 'bad_input',
  401: 'auth_required',
  402: 'payment_required',
  403: 'forbidden',
  404: 'not_found',
  405: 'bad_input',
  409: 'conflict',
  410: 'bad_input',
  413: 'bad_input',
  415: 'bad_input',
  422: 'bad_input',
  429: 'rate_limited',
  431: 'bad_input',
  500: 'market_fault',
  502: 'market_fault',
  503: 'market_fault',
};

export function errorClass(status: ErrorRow['status']): ErrorClass {
  return CLASSES[status];
}

/** What a refused request is answered with: RFC 9457, plus what an agent needs to act on it. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  reason: Reason;
  error_class: ErrorClass;
  /** The same text as detail, under the name that x402 v1 clients read. */
  error: string;
  next_step: string;
  request_id: string;
  retry: Retry;
  retry_after_seconds?: number;
  do_not_pay_again?: boolean;
  errors?: { path: string; message: string }[];
  [field: string]: unknown;
}
