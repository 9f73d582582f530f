import { type Endpoints, endpoints } from '../../contract/index.ts';
import type { EventKind } from '../../contract/vocabulary.ts';

interface Power {
  power: string;
  logged_as: EventKind;
}

type MaintainerEndpoint = {
  [Name in keyof Endpoints]: Endpoints[Name]['auth'] extends 'maintainer' ? Name : never;
}[keyof Endpoints];

/** One for each endpoint that is the maintainer's alone: one that is missing here does not compile. */
const OWN_ENDPOINTS: Readonly<Record<MaintainerEndpoint, Power>> = {
  removeListing: { power: 'remove a listing, with a public reason', logged_as: 'moderation' },
  pinListing: { power: 'pin a live listing, and unpin one', logged_as: 'moderation' },
  removeComment: { power: 'empty a comment, with a public reason code', logged_as: 'moderation' },
  decideAppeal: { power: 'decide an appeal against a removal, in public', logged_as: 'moderation' },
};

/** What it may do beyond others where everybody calls. */
const SHARED_ENDPOINTS = {
  createListing: { power: 'list goods without the listing fee and without a cap', logged_as: 'maintainer_seed' },
  listWorld: { power: 'list a thing of the city without the listing fee', logged_as: 'maintainer_seed' },
  reviewPayment: { power: 'decide what becomes of a listing fee in review', logged_as: 'moderation' },
  getMe: { power: 'read why merchants flagged something', logged_as: 'flag' },
} as const satisfies Partial<Record<keyof Endpoints, Power>>;

/** Everything that merchant 1 may do and others may not, each with the event that shows every use of it. */
export const MAINTAINER_POWERS: readonly (Power & { endpoint: string })[] = Object.entries({
  ...SHARED_ENDPOINTS,
  ...OWN_ENDPOINTS,
}).map(([name, power]) => {
  const { method, path } = endpoints[name as keyof Endpoints];
  return { ...power, endpoint: `${method} ${path}` };
});
