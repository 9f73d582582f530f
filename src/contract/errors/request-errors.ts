import type { ErrorRow } from './error-row.ts';

export const requestErrors = {
  // Malformed requests
  malformed_request: {
    status: 400,
    title: 'The HTTP request is malformed',
    retry: 'after_fix',
    next_step:
      'Send one valid HTTP/1.1 request, without # in the address. Send a body only where the endpoint takes one.',
  },
  malformed_json: {
    status: 400,
    title: 'The body is not valid JSON',
    retry: 'after_fix',
    next_step: 'Send one JSON object in UTF-8 without repeated keys.',
  },
  invalid_fields: {
    status: 400,
    title: 'Some fields are invalid',
    retry: 'after_fix',
    next_step: 'Correct the fields listed in `errors`, then try again.',
  },
  unexpected_fields: {
    status: 400,
    title: 'Some fields are unknown',
    retry: 'after_fix',
    next_step: 'Remove the fields listed in `errors`.',
  },
  invalid_query: {
    status: 400,
    title: 'A parameter is invalid',
    retry: 'after_fix',
    next_step: 'Correct the parameters listed in `errors`. Send each parameter at most once.',
  },
  cursor_invalid: {
    status: 400,
    title: 'The cursor does not belong to this list',
    retry: 'after_fix',
    next_step: 'Start again without a cursor, or send the cursor of the last page with the same filters.',
  },
  cursor_expired: {
    status: 400,
    title: 'The cursor is older than 24 hours',
    retry: 'after_fix',
    next_step: 'Start the list again without a cursor.',
  },
  secret_in_payload: {
    status: 400,
    title: 'A secret was sent in the wrong place',
    retry: 'after_fix',
    next_step:
      'Treat that secret as leaked: replace a key at /api/rotate, or recovery codes at /api/recovery with the action generate. A pairing code expires on its own. Send keys only in Authorization.',
  },
  malformed_proof: {
    status: 400,
    title: 'The payment proof is malformed',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Send the x402 payload as base64 in X-PAYMENT (v1) or PAYMENT-SIGNATURE (v2).',
  },
  two_proofs: {
    status: 400,
    title: 'More than one payment proof was sent',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Send exactly one payment header.',
  },
  method_not_allowed: {
    status: 405,
    title: 'This address does not support that method',
    retry: 'after_fix',
    next_step: 'Use one of the methods in the Allow header.',
  },
  request_timeout: {
    status: 408,
    title: 'The request did not arrive in time',
    retry: 'same_request',
    next_step: 'Try again on a new connection, and send everything without pauses.',
  },
  body_too_large: {
    status: 413,
    title: 'Too much data was sent',
    retry: 'after_fix',
    next_step:
      'Send at most 64 KiB. Goods may be larger: a string artifact has up to 256 KiB, and larger goods are uploaded first.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body is not JSON',
    retry: 'after_fix',
    next_step: 'Set Content-Type to application/json and omit Content-Encoding.',
  },
  headers_too_large: {
    status: 431,
    title: 'The headers are too large',
    retry: 'after_fix',
    next_step: 'Send at most 16,000 bytes of headers.',
  },
  // Callers, and targets that were not found
  key_required: {
    status: 401,
    title: 'A merchant key is required',
    retry: 'after_fix',
    next_step: 'Send your merchant key in Authorization, after the word Bearer. If you have none, open a store first.',
  },
  key_invalid: {
    status: 401,
    title: 'The merchant key is not valid here',
    retry: 'after_fix',
    next_step: 'Use your current key. The official facts say under identity whether lost keys can be recovered.',
  },
  maintainer_only: {
    status: 403,
    title: 'Only the maintainer may do this',
    retry: 'never',
    next_step: 'Ask the maintainer named in the official facts.',
  },
  own_goods: {
    status: 403,
    title: 'You cannot buy your own goods',
    retry: 'never',
    do_not_pay_again: false,
    next_step: 'The goods are already yours, so there is nothing to buy.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    retry: 'never',
    next_step: 'Check the address and the ids you sent. GET / says where to start.',
  },
  listing_unavailable: {
    status: 404,
    title: 'This listing is not for sale',
    retry: 'never',
    do_not_pay_again: false,
    next_step: 'Browse /api/shelves for listings that are for sale.',
  },
  listing_removed: {
    status: 404,
    title: 'The maintainer removed this listing before the payment was sent',
    retry: 'never',
    do_not_pay_again: false,
    next_step: 'No money was taken. The authorization will not be submitted and expires on its own.',
  },
  nothing_to_collect: {
    status: 404,
    title: 'That wallet has neither bought this listing nor started to buy it',
    retry: 'never',
    do_not_pay_again: false,
    next_step: 'To buy it, send the same request without `collect`.',
  },
  payment_not_found: {
    status: 404,
    title: 'No such payment was found',
    retry: 'same_request',
    do_not_pay_again: true,
    next_step:
      'Check the values you sent. If they are correct, try again. A payment may still exist, so do not pay again.',
  },
  // Service faults
  read_unavailable: {
    status: 503,
    title: 'This information cannot be read right now',
    retry: 'same_request',
    do_not_pay_again: true,
    next_step: 'Try again. This answer does not show whether a payment exists, so do not pay because of it.',
  },
  search_not_ready: {
    status: 503,
    title: 'Search is still being prepared',
    retry: 'same_request',
    next_step: 'Browsing without `q` already works. To search, send the same request again after Retry-After.',
  },
  rotation_required: {
    status: 403,
    title: 'You must replace this key first',
    retry: 'after_fix',
    next_step:
      'This market lost part of its history, so it cannot tell whether your key was replaced. Rotate it at /rotate or POST /api/rotate, then try again with the new key.',
  },
  history_lost: {
    status: 503,
    title: 'This market has lost part of its history',
    retry: 'same_request',
    do_not_pay_again: true,
    next_step:
      'Do not pay, and sign nothing new. Keep your proofs and receipts. Send the same request again once the operator has recovered the market.',
  },
  unavailable: {
    status: 503,
    title: 'The market cannot answer right now',
    retry: 'same_request',
    next_step: 'As far as the market knows, nothing was changed. Send the same request again.',
  },
  internal_error: {
    status: 500,
    title: 'The market failed to answer',
    retry: 'same_request',
    next_step: 'Send the same request again. If it keeps failing, report `request_id` to the operator.',
  },
} as const satisfies Record<string, ErrorRow>;
