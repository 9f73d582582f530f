import type { Reason } from '../../contract/errors.ts';
import type { ListingState } from '../../contract/vocabulary.ts';
import { Refusal } from '../../platform/refusal.ts';

type StepRefusal = Extract<Reason, 'listing_closed' | 'listing_unavailable' | 'not_removed'>;

/** The state that follows; `same`: allowed, and the state stays; `nothing`: it is so already; else the reason of the refusal. */
export type Step = ListingState | 'same' | 'nothing' | StepRefusal;

/** Where it matters how the listing stood beneath its removal. */
type ByStateBeforeRemoval = Readonly<Record<'live' | 'withdrawn', Step>>;

const CLOSED = 'listing_closed';
const NOT_FOR_SALE = 'listing_unavailable';
const NOT_REMOVED = 'not_removed';

/** In these a thing of the world ends, by what its city tells. Out of `stale` a sale leads all the same: its buyer has paid. */
const ended = <S extends Step>(step: S) => ({ sold: step, canceled: step, stale: step });
const only = <L extends Step, S extends Step>(live: L, other: S) => ({
  live,
  withdrawn: other,
  removed: other,
  ...ended(other),
});

/**
 * What each act leads to from each state: the only place that says so. The trigger `listing_states_step` holds the same steps. What
 * an act asks beyond the state (whose listing it is, its price, its buyers, payments under way, earlier appeals) is with the act.
 */
export const LISTING_STEPS = {
  buy: only('same', NOT_FOR_SALE),
  // By an earlier buyer, without a payment.
  inherit: { live: 'same', withdrawn: 'same', removed: NOT_FOR_SALE, ...ended(NOT_FOR_SALE) },
  edit: only('same', CLOSED),
  // For good: one that is withdrawn beneath its removal stays so.
  withdraw: {
    live: 'withdrawn',
    withdrawn: 'nothing',
    removed: { live: CLOSED, withdrawn: 'nothing' },
    ...ended(CLOSED),
  },
  // The texts of a withdrawn one are public still.
  remove: { live: 'removed', withdrawn: 'removed', removed: 'nothing', ...ended(CLOSED) },
  appeal: { live: NOT_REMOVED, withdrawn: NOT_REMOVED, removed: 'same', ...ended(NOT_REMOVED) },
  restore: {
    live: NOT_REMOVED,
    withdrawn: NOT_REMOVED,
    removed: { live: 'live', withdrawn: 'withdrawn' },
    ...ended(NOT_REMOVED),
  },
  pin: only('same', CLOSED),
  unpin: only('same', 'same'),
  vote: only('same', CLOSED),
  comment: { live: 'same', withdrawn: 'same', removed: CLOSED, ...ended('same') },
  flag: only('same', 'same'),
  supersede: only('same', 'same'),
  // What came of the offer is recorded in whatever state the listing is.
  world_sale: { live: 'sold', withdrawn: 'sold', removed: 'sold', sold: 'nothing', canceled: CLOSED, stale: 'sold' },
  world_cancel: {
    live: 'canceled',
    withdrawn: 'canceled',
    removed: 'canceled',
    sold: CLOSED,
    canceled: 'nothing',
    stale: 'canceled',
  },
  world_lapse: {
    live: 'stale',
    withdrawn: 'stale',
    removed: 'stale',
    sold: CLOSED,
    canceled: CLOSED,
    stale: 'nothing',
  },
} as const satisfies Record<string, Readonly<Record<ListingState, Step | ByStateBeforeRemoval>>>;

export type ListingAct = keyof typeof LISTING_STEPS;

/** Acts for which it matters how the listing stood beneath its removal. */
type ActOnRemoved = 'withdraw' | 'restore';

interface ListingStatus {
  state: ListingState;
}

interface FullListingStatus extends ListingStatus {
  withdrawnAt: Date | null;
}

/** What the table says of the act. */
export function judgeStep(listing: ListingStatus, act: Exclude<ListingAct, ActOnRemoved>): Step;
export function judgeStep(listing: FullListingStatus, act: ListingAct): Step;
export function judgeStep({ state, withdrawnAt }: ListingStatus & Partial<FullListingStatus>, act: ListingAct): Step {
  const steps: Readonly<Record<ListingState, Step | ByStateBeforeRemoval>> = LISTING_STEPS[act];
  const step = steps[state];
  if (typeof step === 'string') return step;
  return withdrawnAt ? step.withdrawn : step.live;
}

const REFUSALS: readonly Step[] = [CLOSED, NOT_FOR_SALE, NOT_REMOVED] satisfies StepRefusal[];

export function isRefused(step: Step): step is StepRefusal {
  return REFUSALS.includes(step);
}

/** The same, for acts of which a refusal says no more than the state. */
export function mustStep(listing: ListingStatus, act: Exclude<ListingAct, ActOnRemoved>): Exclude<Step, StepRefusal>;
export function mustStep(listing: FullListingStatus, act: ListingAct): Exclude<Step, StepRefusal>;
export function mustStep(
  { state, withdrawnAt = null }: ListingStatus & Partial<FullListingStatus>,
  act: ListingAct,
): Exclude<Step, StepRefusal> {
  const step = judgeStep({ state, withdrawnAt }, act);
  if (isRefused(step)) throw new Refusal(step, { detail: `The listing is ${state}.` });
  return step;
}

/** The state after an act that the table allows. */
export function nextState(listing: FullListingStatus, act: ListingAct): ListingState {
  const step = mustStep(listing, act);
  return step === 'same' || step === 'nothing' ? listing.state : step;
}
