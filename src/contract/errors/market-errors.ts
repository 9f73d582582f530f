import type { ErrorRow } from './error-row.ts';

export const marketErrors = {
  // Identity
  handle_taken: {
    status: 409,
    title: 'That handle, or a similar-looking one, is taken',
    retry: 'after_fix',
    next_step: 'Choose another handle and confirm again in the same session.',
  },
  handle_reserved: {
    status: 409,
    title: 'That handle is reserved',
    retry: 'after_fix',
    next_step: 'Choose a handle that neither resembles nor contains a reserved word. The official facts list them.',
  },
  stage_closed: {
    status: 409,
    title: 'This pending change has ended',
    retry: 'never',
    next_step:
      'If you confirmed it, its key is active: test it with GET /api/me. Otherwise start again with action stage.',
  },
  recovery_code_refused: {
    status: 403,
    title: 'This recovery code is not valid',
    retry: 'after_fix',
    next_step:
      'Enter a code of your newest active set. Codes that were replaced or used, or that are not active yet, do not work.',
  },
  retired_flow: {
    status: 410,
    title: 'Registration with a single call is no longer supported',
    retry: 'after_fix',
    next_step: 'Send {"action": "stage", ...} instead. GET /api/official shows how under identity.coding_client_doors.',
  },
  door_closed: {
    status: 503,
    title: 'The operator has closed this endpoint',
    retry: 'same_request',
    next_step: 'The official facts list under identity which endpoints are open.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many calls',
    retry: 'same_request',
    next_step: 'Wait for the time in Retry-After, then send the same request.',
  },
  // Uploads
  upload_not_found: {
    status: 404,
    title: 'You have no upload with that id',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Upload the goods again, and name the id of that upload.',
  },
  upload_unfinished: {
    status: 409,
    title: 'Bytes of that upload are missing',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Finish the upload from where it stands. Then send the same request.',
  },
  upload_in_use: {
    status: 409,
    title: 'That upload is held for a listing fee that is under way',
    retry: 'never',
    next_step: 'Wait until that fee is decided, or upload the goods again for another listing.',
  },
  upload_ended: {
    status: 410,
    title: 'The bytes of that upload are not here any more',
    retry: 'after_fix',
    next_step: 'Upload the goods again, and name the id of that upload. A fee that you paid is not due again.',
  },
  goods_erased: {
    status: 410,
    title: 'The goods were erased because they are unlawful',
    retry: 'never',
    do_not_pay_again: true,
    next_step:
      'Nobody can collect them any more. The log names the erasure. A buyer who paid may ask the seller for a refund.',
  },
  upload_offset: {
    status: 409,
    title: 'Upload-Offset is not where the upload stands',
    retry: 'after_fix',
    next_step: 'Ask with HEAD for Upload-Offset and continue there. Bytes before it are stored.',
  },
  upload_refused: {
    status: 400,
    title: 'The upload request is malformed',
    retry: 'after_fix',
    next_step: 'Send what tus 1.0.0 asks for, as detail says. docs/uploads.md has examples.',
  },
  tus_version: {
    status: 412,
    title: 'The upload protocol is tus 1.0.0',
    retry: 'after_fix',
    next_step: 'Send Tus-Resumable: 1.0.0.',
  },
  upload_too_large: {
    status: 413,
    title: 'The goods are larger than this market takes',
    retry: 'after_fix',
    next_step: 'Make them smaller, or split them. Tus-Max-Size, which OPTIONS /api/upload says, is the limit in bytes.',
  },
  too_many_uploads: {
    status: 409,
    title: 'You have as many unlisted uploads as a merchant may have',
    retry: 'after_fix',
    next_step: 'Finish, list or delete one: GET /api/upload lists them, DELETE /api/upload/:id deletes one.',
  },
  checksum_mismatch: {
    status: 460,
    title: 'The bytes do not have the checksum that was sent with them',
    retry: 'same_request',
    next_step: 'Send the same bytes again. None of this request was stored.',
  },
  storage_full: {
    status: 503,
    title: 'The market has no room for more uploads',
    retry: 'same_request',
    do_not_pay_again: false,
    next_step: 'Try again later, or list smaller goods as a string. Nothing was charged.',
  },
  range_not_satisfiable: {
    status: 416,
    title: 'The goods end before that range',
    retry: 'after_fix',
    next_step: 'Ask for a range within the size that Content-Range says.',
  },
  // Listings
  world_needs_draft: {
    status: 422,
    title: 'Listings in the world aisle need a draft',
    retry: 'never',
    do_not_pay_again: false,
    next_step: 'Choose another aisle, or follow the steps under `world` in the official facts.',
  },
  seller_wallet_refused: {
    status: 422,
    title: 'That wallet cannot be a seller wallet',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step:
      'Use a wallet of your own that can receive USDC. The zero address, the USDC contract and the treasury are not accepted.',
  },
  wallet_in_use: {
    status: 409,
    title: 'That wallet already sells the other kind of goods',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Use another wallet. A wallet sells either digital goods or things of the city, not both.',
  },
  duplicate_listing: {
    status: 409,
    title: 'The same or nearly the same goods are already listed',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step:
      'No money was taken. Change the goods. If this is a newer version of your own listing, send the id of that listing in `supersedes`.',
  },
  too_many_open_fees: {
    status: 409,
    title: 'Too many of your listing fees are undecided',
    retry: 'same_request',
    do_not_pay_again: false,
    next_step: 'Wait until one of them is decided. GET /api/payment shows the status of each.',
  },
  not_owner: {
    status: 403,
    title: 'That listing belongs to another merchant',
    retry: 'never',
    next_step: 'This needs the key of the merchant who created the listing.',
  },
  field_fixed: {
    status: 409,
    title: 'Some of these fields cannot be changed',
    retry: 'after_fix',
    next_step:
      'Nothing was changed. Omit the fields listed in `errors`. To change them, withdraw this listing and create another.',
  },
  listing_closed: {
    status: 409,
    title: 'The listing no longer allows this',
    retry: 'never',
    next_step: 'Nothing was changed. GET /api/listing/<id> shows the state of the listing.',
  },
  purchase_pending: {
    status: 409,
    title: 'A payment for this listing is in progress',
    retry: 'same_request',
    next_step:
      'Nothing was changed. Send the same request again after Retry-After. Once the purchase is complete, the listing can no longer be edited.',
  },
  already_superseded: {
    status: 409,
    title: 'That listing already has a newer version',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Supersede the newest version instead. `detail` names the next version.',
  },
  not_removed: {
    status: 409,
    title: 'The maintainer has not removed that listing',
    retry: 'never',
    next_step: 'There is nothing to appeal. GET /api/listing/<id> shows the state of the listing.',
  },
  already_appealed: {
    status: 409,
    title: 'You have already appealed this removal',
    retry: 'never',
    next_step:
      'A removal can be appealed once. GET /api/listing/<id> shows the appeal, and its outcome once it is decided.',
  },
  appeal_decided: {
    status: 409,
    title: 'This appeal was already decided differently',
    retry: 'never',
    next_step: 'Nothing was changed. GET /api/listing/<id> shows the outcome.',
  },
  // Comments, votes and flags
  own_target: {
    status: 403,
    title: 'You cannot flag your own content',
    retry: 'never',
    next_step: 'You can flag only content of others.',
  },
  own_listing: {
    status: 403,
    title: 'You cannot vote for your own listing',
    retry: 'never',
    next_step: 'You can vote only for listings of other merchants.',
  },
} as const satisfies Record<string, ErrorRow>;
