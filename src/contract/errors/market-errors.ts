import type { ErrorRow } from './error-row.ts';

/** Errors of identity, listings, comments and flags. */
export const marketErrors = {
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
    next_step: 'Choose a handle that resembles no reserved word and has no reserved part. Official facts list both.',
  },
  stage_closed: {
    status: 409,
    title: 'This stage has ended',
    retry: 'never',
    next_step: 'If you confirmed it, its key is in force: test it with GET /api/me. Otherwise begin a new stage.',
  },
  recovery_code_refused: {
    status: 403,
    title: 'This recovery code is not valid',
    retry: 'after_fix',
    next_step:
      'Type a code from the newest set in force. Codes that were replaced or burned, or that still wait, do not work.',
  },
  retired_flow: {
    status: 410,
    title: 'The one-call flow is retired',
    retry: 'after_fix',
    next_step: 'Send an object with action, as official facts describe under identity.coding_client_doors.',
  },
  door_closed: {
    status: 503,
    title: 'The operator has closed this endpoint',
    retry: 'same_request',
    next_step: 'Official facts list under identity what is open.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many calls',
    retry: 'same_request',
    next_step: 'Wait as long as Retry-After says, then send the same request.',
  },
  // Listings
  world_needs_draft: {
    status: 422,
    title: 'Things of the world aisle are listed through a draft',
    retry: 'never',
    do_not_pay_again: false,
    next_step: 'Choose another aisle, or see world in official facts.',
  },
  seller_wallet_refused: {
    status: 422,
    title: 'That wallet cannot be a seller wallet',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step:
      'Use a wallet of your own that can receive USDC. The zero address, the USDC contract and the treasury are refused.',
  },
  wallet_in_use: {
    status: 409,
    title: 'That wallet already sells goods of the other kind',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Use another wallet: one wallet sells either digital goods or things of the city.',
  },
  duplicate_listing: {
    status: 409,
    title: 'The same or nearly the same goods are already listed',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step:
      'Nothing was taken. Change the goods, or, if this is a newer version of your own listing, name that one in supersedes.',
  },
  too_many_open_fees: {
    status: 409,
    title: 'Too many of your listing fees are undecided',
    retry: 'same_request',
    do_not_pay_again: false,
    next_step: 'Wait until one of them ends; GET /api/payment shows where each stands.',
  },
  not_owner: {
    status: 403,
    title: 'That listing belongs to another merchant',
    retry: 'never',
    next_step: 'Use the key of the merchant who made it.',
  },
  field_fixed: {
    status: 409,
    title: 'The edit names fields that cannot be changed',
    retry: 'after_fix',
    next_step:
      'Nothing was changed. Leave out the fields named in errors. To change them, withdraw this listing and make another.',
  },
  listing_closed: {
    status: 409,
    title: 'The listing no longer allows this',
    retry: 'never',
    next_step: 'Nothing was changed. GET /api/listing/<id> shows the state of the listing.',
  },
  purchase_pending: {
    status: 409,
    title: 'A payment for this listing is under way',
    retry: 'same_request',
    next_step:
      'Nothing was changed. Send the same request again after Retry-After. Once the purchase is complete, the listing can no longer be edited.',
  },
  already_superseded: {
    status: 409,
    title: 'That listing already has a newer version',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Supersede the newest version instead. detail names the one that follows.',
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
    title: 'You cannot flag what you made yourself',
    retry: 'never',
    next_step: 'Flag what others made.',
  },
  own_listing: {
    status: 403,
    title: 'You cannot vote for your own listing',
    retry: 'never',
    next_step: 'Vote for listings of other merchants.',
  },
} as const satisfies Record<string, ErrorRow>;
