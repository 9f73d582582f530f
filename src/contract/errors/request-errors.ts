import type { ErrorRow } from './error-row.ts';

/** Errors of the request itself, of its caller, and of the service. */
export const requestErrors = {
  // Form of the request
  malformed_request: {
    status: 400,
    title: 'The request is not valid HTTP for this address',
    retry: 'after_fix',
    next_step: 'Send one valid HTTP/1.1 request to an address without #. Send a body only where the route takes one.',
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
    next_step: 'Correct the fields named in errors, and try again.',
  },
  unexpected_fields: {
    status: 400,
    title: 'Some fields are not known here',
    retry: 'after_fix',
    next_step: 'Remove the fields named in errors.',
  },
  invalid_query: {
    status: 400,
    title: 'A parameter is invalid',
    retry: 'after_fix',
    next_step: 'Correct the parameters named in errors. Each may be given once.',
  },
  cursor_invalid: {
    status: 400,
    title: 'The cursor does not belong to this list',
    retry: 'after_fix',
    next_step: 'Start again without a cursor, or send the one from the last page with the same filters.',
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
      'Treat that secret as leaked. Replace a key at /api/rotate, or recovery codes with generate at /api/recovery; a pairing code expires by itself. Send a key in Authorization and nowhere else.',
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
    title: 'This address does not allow that method',
    retry: 'after_fix',
    next_step: 'Use one of the methods in the Allow header.',
  },
  request_timeout: {
    status: 408,
    title: 'The request did not arrive in time',
    retry: 'same_request',
    next_step: 'Send the whole request without pauses, on a new connection.',
  },
  body_too_large: {
    status: 413,
    title: 'The data sent is too large',
    retry: 'after_fix',
    next_step: 'Send at most 64 KiB. Goods may have up to limits.artifact_bytes of official facts.',
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
  // The caller
  key_required: {
    status: 401,
    title: 'This needs a merchant key',
    retry: 'after_fix',
    next_step: 'Send your merchant key in Authorization, after the word Bearer. If you have none, open a store first.',
  },
  key_invalid: {
    status: 401,
    title: 'The merchant key is not valid here',
    retry: 'after_fix',
    next_step: 'Use your current key. Official facts say under identity whether a lost key can be recovered here.',
  },
  maintainer_only: {
    status: 403,
    title: 'Only the maintainer may do this',
    retry: 'never',
    next_step: 'Ask the maintainer named in official facts.',
  },
  own_goods: {
    status: 403,
    title: 'You cannot buy your own goods',
    retry: 'never',
    do_not_pay_again: false,
    next_step: 'There is nothing to do: the goods are already yours.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    retry: 'never',
    next_step: 'Check what you asked for; GET / says where to begin.',
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
    next_step: 'No money was taken: the authorization is never submitted and expires by itself.',
  },
  nothing_to_collect: {
    status: 404,
    title: 'That wallet has not bought this listing or started to',
    retry: 'never',
    do_not_pay_again: false,
    next_step: 'To buy it, send the same request without collect.',
  },
  payment_not_found: {
    status: 404,
    title: 'No such payment is known',
    retry: 'same_request',
    do_not_pay_again: true,
    next_step:
      'This does not prove that nothing was paid, so do not pay again because of it. Check what you asked with.',
  },
  // The service
  read_unavailable: {
    status: 503,
    title: 'This cannot be read right now',
    retry: 'same_request',
    do_not_pay_again: true,
    next_step: 'This shows neither a payment nor its absence, so do not pay because of it. Try again.',
  },
  search_not_ready: {
    status: 503,
    title: 'Search is still being prepared',
    retry: 'same_request',
    next_step: 'Shelves without q already work. Send the same request again after the time named.',
  },
  rotation_required: {
    status: 403,
    title: 'You have to replace this key first',
    retry: 'after_fix',
    next_step:
      'This market lost part of its history, and with it whether your key was replaced. Rotate it at /rotate or POST /api/rotate, then send the same request.',
  },
  history_lost: {
    status: 503,
    title: 'This market has lost part of its history',
    retry: 'same_request',
    do_not_pay_again: true,
    next_step:
      'Pay nothing and sign nothing new. Keep what you have. Send the same request again once the operator has recovered the market.',
  },
  unavailable: {
    status: 503,
    title: 'The market cannot answer right now',
    retry: 'same_request',
    next_step: 'Nothing is known to have changed. Send the same request again.',
  },
  internal_error: {
    status: 500,
    title: 'The market failed to answer',
    retry: 'same_request',
    next_step: 'Send the same request again. If it keeps failing, report request_id to the operator.',
  },
} as const satisfies Record<string, ErrorRow>;
