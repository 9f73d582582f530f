import type { EventKind } from '../../contract/vocabulary.ts';

/** Everything that merchant 1 may do and others may not, each with the event that shows every use of it. */
export const MAINTAINER_POWERS: readonly { power: string; logged_as: EventKind }[] = [
  { power: 'list goods without the listing fee and without a cap', logged_as: 'maintainer_seed' },
  { power: 'remove a listing, with a public reason', logged_as: 'moderation' },
  { power: 'pin a live listing, and unpin one', logged_as: 'moderation' },
  { power: 'decide what becomes of a listing fee in review', logged_as: 'moderation' },
];
