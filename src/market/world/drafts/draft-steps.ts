import type { DraftState } from '../../../contract/world-records.ts';

/** What each act leads to from each state of a draft. The trigger `world_drafts_step` holds the same. */
export const DRAFT_STEPS = {
  open_fee: { pending: 'fee_pending' },
  // The fee ended unpaid, or its listing could not be made: the draft goes on if its time is not over.
  lose_fee: { fee_pending: 'pending' },
  list: { pending: 'listed', fee_pending: 'listed' },
  cancel: { pending: 'canceled' },
  expire: { pending: 'expired', fee_pending: 'expired' },
} as const satisfies Record<string, Partial<Record<DraftState, DraftState>>>;

export type DraftAct = keyof typeof DRAFT_STEPS;

/** The state after the act; null where it is not allowed. */
export function nextDraftState(state: DraftState, act: DraftAct): DraftState | null {
  const steps: Partial<Record<DraftState, DraftState>> = DRAFT_STEPS[act];
  return steps[state] ?? null;
}
