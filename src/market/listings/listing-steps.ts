import type { Reason } from '../../contract/errors.ts';
import type { ListingState } from '../../contract/vocabulary.ts';
import { Refusal } from '../../platform/refusal.ts';

type StepRefusal = Extract<Reason, 'listing_closed' | 'listing_unavailable' | 'not_removed'>;

/** The next state; `same` if the act changes no state; `nothing` if it was already done; otherwise the reason of the refusal. */
export type Step = ListingState | 'same' | 'nothing' | StepRefusal;

/** Steps for a removed listing that depend on its state before the removal. */
type ByStateBeforeRemoval = Readonly<Record<'live' | 'withdrawn', Step>>;

const CLOSED = 'listing_closed';
const NOT_FOR_SALE = 'listing_unavailable';
const NOT_REMOVED = 'not_removed';

/**
 * Returns the same step for every state in which a thing has ended. Only `stale` can still become another state: `sold`, because a buyer
 * may have paid, or `canceled`.
 */
const allEnded = <S extends Step>(step: S) => ({ sold: step, canceled: step, stale: step });
const onlyLive = <L extends Step, S extends Step>(live: L, other: S) => ({
  live,
  withdrawn: other,
  removed: other,
  ...allEnded(other),
});

/**
 * Defines to which state each act leads. The trigger `listing_states_step` enforces the same steps. Code checks conditions beyond the state
 * (owner, price, buyers, payments under way, earlier appeals) where the act is performed.
 */
export const LISTING_STEPS = {
  buy: onlyLive('same', NOT_FOR_SALE),
  // Delivers to a buyer of an older version without a payment.
  inherit: { live: 'same', withdrawn: 'same', removed: NOT_FOR_SALE, ...allEnded(NOT_FOR_SALE) },
  edit: onlyLive('same', CLOSED),
  // Final: a listing withdrawn before its removal stays withdrawn.
  withdraw: {
    live: 'withdrawn',
    withdrawn: 'nothing',
    removed: { live: CLOSED, withdrawn: 'nothing' },
    ...allEnded(CLOSED),
  },
  // A withdrawn listing can be removed, because its texts are still public.
  remove: { live: 'removed', withdrawn: 'removed', removed: 'nothing', ...allEnded(CLOSED) },
  appeal: { live: NOT_REMOVED, withdrawn: NOT_REMOVED, removed: 'same', ...allEnded(NOT_REMOVED) },
  restore: {
    live: NOT_REMOVED,
    withdrawn: NOT_REMOVED,
    removed: { live: 'live', withdrawn: 'withdrawn' },
    ...allEnded(NOT_REMOVED),
  },
  pin: onlyLive('same', CLOSED),
  unpin: onlyLive('same', 'same'),
  vote: onlyLive('same', CLOSED),
  comment: { live: 'same', withdrawn: 'same', removed: CLOSED, ...allEnded('same') },
  flag: onlyLive('same', 'same'),
  supersede: onlyLive('same', 'same'),
  // The outcome of the offer is recorded in any state of the listing.
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

/** Acts that depend on the state before the removal. */
type ActOnRemoved = 'withdraw' | 'restore';

interface ListingStatus {
  state: ListingState;
}

interface FullListingStatus extends ListingStatus {
  withdrawnAt: Date | null;
}

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

/** Throws if the act is refused. Use it for acts whose refusal names only the state. */
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

export function nextState(listing: FullListingStatus, act: ListingAct): ListingState {
  const step = mustStep(listing, act);
  return step === 'same' || step === 'nothing' ? listing.state : step;
}
