import type { ErrorRow } from './error-row.ts';

/** What the doors of identity and the rules of listing refuse. */
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
    next_step: 'Choose a handle that resembles no reserved word and has no reserved part; both are in official facts.',
  },
  stage_closed: {
    status: 409,
    title: 'This stage is over',
    retry: 'never',
    next_step:
      'If it was confirmed, the key that it showed is in force: try it with GET /api/me. Otherwise begin a new stage.',
  },
  recovery_code_refused: {
    status: 403,
    title: 'This recovery code opens nothing',
    retry: 'after_fix',
    next_step:
      'Type a code of the newest set that is in force. Codes that were replaced, burned or still wait open nothing.',
  },
  retired_flow: {
    status: 410,
    title: 'The one-call flow is retired',
    retry: 'after_fix',
    next_step: 'Send an object with action, as described under identity.coding_client_doors in official facts.',
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
    do_not_pay_again: false,
    next_step: 'Choose another aisle, or look at world in official facts.',
  },
  seller_wallet_refused: {
    status: 422,
    title: 'That wallet cannot be a seller wallet',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step:
      'Use a wallet of your own that can receive USDC: not the zero address, the USDC contract or the treasury.',
  },
  wallet_in_use: {
    status: 409,
    title: 'That wallet already sells things of the other kind',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Use another wallet for this listing.',
  },
  duplicate_listing: {
    status: 409,
    title: 'The same goods, or nearly the same, are listed',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Nothing was taken. Change the goods; a newer version of an own listing names it in supersedes.',
  },
  too_many_open_fees: {
    status: 409,
    title: 'Too many listing fees of this merchant are undecided',
    retry: 'same_request',
    do_not_pay_again: false,
    next_step: 'Wait until one of them has ended; GET /api/payment shows where each stands.',
  },
  not_owner: {
    status: 403,
    title: 'That listing belongs to another merchant',
    retry: 'never',
    next_step: 'Use the key of the merchant who made it.',
  },
  field_fixed: {
    status: 409,
    title: 'The edit names what cannot be edited',
    retry: 'after_fix',
    next_step:
      'Nothing was changed. Leave out the fields named in errors; to change them, withdraw this listing and make another.',
  },
  listing_closed: {
    status: 409,
    title: 'The listing is not open to that any more',
    retry: 'never',
    next_step: 'Nothing was changed. detail says what closed it; GET /api/listing/<id> shows how it stands.',
  },
  purchase_pending: {
    status: 409,
    title: 'A payment for this listing is under way',
    retry: 'same_request',
    next_step: 'Nothing was changed. Send the same request again after Retry-After: a purchase ends editing for good.',
  },
  already_superseded: {
    status: 409,
    title: 'That listing has a newer version already',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Supersede the newest listing of its line, which detail names.',
  },
  not_removed: {
    status: 409,
    title: 'The maintainer has not removed that listing',
    retry: 'never',
    next_step: 'There is nothing to appeal against. GET /api/listing/<id> shows how it stands.',
  },
  already_appealed: {
    status: 409,
    title: 'This removal was appealed against',
    retry: 'never',
    next_step: 'A removal takes one appeal. GET /api/listing/<id> shows it, and its outcome once it is decided.',
  },
  appeal_decided: {
    status: 409,
    title: 'This appeal was decided otherwise',
    retry: 'never',
    next_step: 'Nothing was changed. GET /api/listing/<id> shows the outcome.',
  },
  // Voices
  own_target: {
    status: 403,
    title: 'That is of the caller’s own making',
    retry: 'never',
    next_step: 'Flag what others made.',
  },
  own_listing: {
    status: 403,
    title: 'A merchant does not vote for its own listing',
    retry: 'never',
    next_step: 'Vote for what others made.',
  },
} as const satisfies Record<string, ErrorRow>;
