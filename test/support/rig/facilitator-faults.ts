import { FACILITATOR_DEADLINE_SECONDS } from '../../../src/contract/vocabulary.ts';
import type { Script } from '../scripted-facilitator.ts';

const DEADLINE_MS = FACILITATOR_DEADLINE_SECONDS * 1_000;
const AROUND_MS = 100;

/** What can go wrong between a market and a third party's facilitator, by name; `to` and a foreign transaction are the test's to add. */
export const FACILITATOR_FAULTS = {
  slow_just_in_time: { verify: 'forward', settle: 'forward_slowly', afterMs: DEADLINE_MS - AROUND_MS },
  slow_just_too_late: { verify: 'forward', settle: 'forward_slowly', afterMs: DEADLINE_MS + AROUND_MS },
  never_answers: { verify: 'forward', settle: 'hang' },
  reset_before_settle: { verify: 'forward', settle: 'cut' },
  reset_after_settle: { verify: 'forward', settle: 'forward_then_cut' },
  error_after_settle: { verify: 'forward', settle: 'forward_then_error' },
  garbage: { verify: 'forward', settle: 'garbage' },
  success_without_transaction: { verify: 'forward', settle: 'success' },
  success_with_foreign_transaction: { verify: 'forward', settle: 'success' },
  settlement_pending: { verify: 'forward', settle: 'forward_then_pending' },
  answered_twice: { verify: 'forward', settle: 'forward_answered_twice' },
  verify_yes_settle_no: { verify: 'forward', settle: 'rejected' },
  verify_no_chain_yes: { verify: 'settle_then_invalid', settle: 'rejected' },
  redirect: { verify: 'forward', settle: 'redirect' },
} as const satisfies Record<string, Script>;

export type FacilitatorFaultName = keyof typeof FACILITATOR_FAULTS;
export const FACILITATOR_FAULT_NAMES = Object.keys(FACILITATOR_FAULTS) as FacilitatorFaultName[];
