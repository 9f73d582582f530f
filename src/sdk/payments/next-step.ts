import { MarketError } from '../market-error.ts';
import type { AnyReason } from '../problem.ts';
import { UnreadableAnswer } from '../unreadable-answer.ts';

/** `ask_again`: forget the lapsed proof and ask what is to be signed. `stop`: throw what came. */
export type NextStep = 'wait' | 'sign' | 'collect' | 'sign_to_collect' | 'ask_again' | 'stop';

/** How the purchase stands when a refusal arrives. */
export interface Standing {
  /** A proof was signed for it, in this process or before a restart. */
  signed: boolean;
  /** What is left of the window of the proof in hand, by our clock. At 0 it can no longer be submitted. */
  secondsLeft: number;
  /** An answer said that a payment of this buyer is under way. */
  knownToExist: boolean;
  collecting: boolean;
  /** The wallet has signed for the present collection. */
  signedToCollect: boolean;
  canCollect: boolean;
  /** The caller allows one more payment once the first has ended unpaid. */
  mayPayAgain: boolean;
  /** Refusals in a row without any success between. */
  failures: number;
}

const PATIENCE_UNSIGNED = 4;
const PATIENCE_UNREADABLE = 6;
/** The market takes no authorization that ends sooner than this, with some room for clocks that differ. */
const TOO_SHORT_SECONDS = 30;
const UNDER_WAY: readonly AnyReason[] = ['verification_pending', 'settlement_pending', 'facilitator_refused'];

/** True for a refusal which says that a payment of this buyer is open. */
export function tellsOfPayment(error: unknown): boolean {
  return error instanceof MarketError && UNDER_WAY.includes(error.reason);
}

/** What to do about a refusal. Never leads to a second signature while the first could still be used. */
export function nextStep(error: unknown, standing: Standing): NextStep {
  if (error instanceof UnreadableAnswer) return patience(standing, error.why !== 'no_answer');
  if (!(error instanceof MarketError)) return 'stop';
  if (error.reason === 'payment_required') return whenAsked(standing);
  if (error.reason === 'sign_to_collect') return standing.canCollect && !standing.collecting ? 'collect' : 'stop';
  if (error.reason === 'authorization_lapsed' || error.reason === 'payment_invalid') return whenOver(error, standing);
  const passing = error.status >= 500 || error.status === 429;
  const retryable = error.problem.retry === 'same_proof' || error.problem.retry === 'same_request';
  return passing && retryable ? patience(standing, false) : 'stop';
}

function patience(standing: Standing, unreadable: boolean): NextStep {
  const limit = unreadable ? PATIENCE_UNREADABLE : Number.POSITIVE_INFINITY;
  const bound = standing.signed || standing.knownToExist ? limit : PATIENCE_UNSIGNED;
  return standing.failures < bound ? 'wait' : 'stop';
}

function whenAsked(standing: Standing): NextStep {
  if (standing.collecting) return standing.signedToCollect ? 'stop' : 'sign_to_collect';
  // A market that asks again after a proof may hold that proof: a second signature could pay twice.
  if (standing.signed) return 'stop';
  return standing.knownToExist && !standing.mayPayAgain ? 'stop' : 'sign';
}

function whenOver(error: MarketError, standing: Standing): NextStep {
  // The window of a collecting signature ran out on the way; it moves no money, so another may follow once it is over.
  if (standing.collecting) {
    return error.reason === 'payment_invalid' && standing.secondsLeft <= TOO_SHORT_SECONDS ? 'wait' : 'stop';
  }
  if (!standing.signed || standing.secondsLeft > 0) return 'stop';
  // An earlier payment of this wallet is open, and this proof only showed who asks.
  if (error.reason === 'payment_invalid' && standing.knownToExist) return standing.canCollect ? 'collect' : 'stop';
  return standing.mayPayAgain && error.doNotPayAgain === false ? 'ask_again' : 'stop';
}
