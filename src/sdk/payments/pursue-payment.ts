import { MarketError } from '../market-error.ts';
import { UnreadableAnswer } from '../unreadable-answer.ts';
import { beginRun } from './begin-run.ts';
import { nextStep, type Standing, tellsOfPayment } from './next-step.ts';
import { saidOf } from './payment-may-be-lost.ts';
import { type Pending, type Pursuit, type Run, secondsLeft, type Terms } from './pursuit.ts';
import { signPayment, signToCollect } from './sign-asked.ts';
import { reportProgress, takeTurn, undecided } from './take-turn.ts';

type Outcome<Done> = { done: Done } | { pending: Pending } | { error: unknown };

/**
 * Asks, signs once, and sends the same proof until the goods come, a refusal is final, or the caller's patience ends. The caller
 * clears the store once it is content with what came.
 */
export async function pursuePayment<Done>(pursuit: Pursuit<Done>): Promise<{ done: Done; run: Run<Done> }> {
  const run = await beginRun(pursuit);
  for (;;) {
    const outcome = await attempt(run);
    if ('done' in outcome) return { done: outcome.done, run };
    if ('pending' in outcome) await takeTurn(run, outcome);
    else await answerRefusal(run, outcome.error);
  }
}

async function attempt<Done>(run: Run<Done>): Promise<Outcome<Done>> {
  if (secondsLeft(run, run.collectProof) === 0) run.collectProof = null;
  const proof = run.collecting ? run.collectProof : run.saved?.proof;
  if (run.saved !== null && !run.submitted) {
    run.submitted = true;
    reportProgress(run, 'submitted');
  }
  try {
    // Where a signature is asked for, the token has collected nothing: it may be one that opened no payment.
    const deliveryToken = run.collecting ? undefined : (run.token ?? undefined);
    const collectSalt = run.collecting ? run.collectProof?.salt : undefined;
    const recoverySlip = run.showsSlip ? (run.slip ?? undefined) : undefined;
    const collect = run.collecting;
    const answer = await run.send({ payment: proof?.header, deliveryToken, collect, collectSalt, recoverySlip });
    run.failures = 0;
    if ('pending' in answer) {
      run.knownToExist = true;
      await keepGiven(run, answer.pending.delivery_token ?? null, answer.pending.recovery_slip);
    }
    return answer;
  } catch (error) {
    if (!(error instanceof MarketError || error instanceof UnreadableAnswer)) throw error;
    run.failures += 1;
    run.knownToExist ||= tellsOfPayment(error);
    if (error instanceof MarketError) {
      await keepGiven(run, error.deliveryToken(), error.problem['recovery_slip']);
    }
    return { error };
  }
}

async function answerRefusal(run: Run, error: unknown): Promise<void> {
  switch (nextStep(error, standingOf(run))) {
    case 'wait':
      return takeTurn(run, { error });
    case 'sign':
      return signPayment(run, error);
    case 'collect':
      run.collecting = true;
      return;
    case 'sign_to_collect':
      return signToCollect(run, error);
    case 'ask_again':
      return forgetLapsed(run);
    case 'stop':
      if (error instanceof MarketError && mayShowSlip(run)) return;
      if (error instanceof MarketError) throw saidOf(error);
      throw undecided(run, 'The market cannot be understood', error);
  }
}

// The lapsed proof stays in the store until another takes its place, so that a crash here does not forget it.
async function forgetLapsed(run: Run): Promise<void> {
  const terms: Terms = await run.readTerms();
  Object.assign(run, { terms, saved: null, token: null, submitted: false, askedAgain: true, knownToExist: false });
}

/** A refusal may come of books that lack the payment. Only then it is worth its bytes: the same is asked once more, with the slip. */
function mayShowSlip(run: Run): boolean {
  if (run.slip === null || run.showsSlip) return false;
  run.showsSlip = true;
  return true;
}

async function keepGiven(run: Run, givenToken: string | null, givenSlip: unknown): Promise<void> {
  const token = givenToken ?? run.token;
  const slip = typeof givenSlip === 'string' ? givenSlip : run.slip;
  if (token === run.token && slip === run.slip) return;
  Object.assign(run, { token, slip });
  if (run.saved === null) return;
  run.saved = { ...run.saved, delivery_token: token, ...(slip === null ? {} : { recovery_slip: slip }) };
  await run.store.save(run.storeKey, run.saved);
}

function standingOf(run: Run): Standing {
  const proof = run.collecting ? run.collectProof : (run.saved?.proof ?? null);
  return {
    signed: run.saved !== null,
    secondsLeft: secondsLeft(run, proof),
    knownToExist: run.knownToExist,
    collecting: run.collecting,
    signedToCollect: run.collectProof !== null,
    canCollect: run.listingId !== null,
    mayPayAgain: run.options.mayPayAgain === true && run.options.recoverySlip === undefined && !run.askedAgain,
    failures: run.failures,
  };
}
