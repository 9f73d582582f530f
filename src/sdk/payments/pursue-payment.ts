import { base62 } from '../../contract/base62.ts';
import type { Environment } from '../environment.ts';
import { MarketError } from '../market-error.ts';
import { UnreadableAnswer } from '../unreadable-answer.ts';
import { nextStep, type Standing, tellsOfPayment } from './next-step.ts';
import { saidOf } from './payment-may-be-lost.ts';
import { type PaymentProof, signProof } from './payment-proof.ts';
import { readPaymentRequired } from './payment-required.ts';
import { loadPayment, memoryOf, type SavedPayment } from './proof-store.ts';
import { type Pending, type Pursuit, type Run, secondsLeft, type Terms } from './pursuit.ts';
import { signCollecting } from './sign-to-collect.ts';
import { reportProgress, takeTurn, undecided } from './take-turn.ts';
import { TermsRefused } from './terms-refused.ts';

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

/** Picks up a payment that was begun earlier, or starts without one. */
async function beginRun<Done>(pursuit: Pursuit<Done>): Promise<Run<Done>> {
  const { options, storeKey } = pursuit;
  const store = options.proofStore ?? memoryOf(options.client);
  const saved = await loadPayment(store, storeKey);
  const showsSlip = options.recoverySlip !== undefined;
  return {
    ...pursuit,
    store,
    saved,
    terms: saved === null ? await pursuit.readTerms() : termsOf(saved),
    token: saved?.delivery_token ?? null,
    slip: options.recoverySlip ?? saved?.recovery_slip ?? null,
    showsSlip,
    submitted: false,
    collecting: showsSlip && saved === null && pursuit.listingId !== null,
    collectProof: null,
    knownToExist: showsSlip,
    askedAgain: false,
    failures: 0,
    startedMs: options.client.environment.now(),
  };
}

function termsOf(saved: SavedPayment): Terms {
  const { payee, amount_units, network, artifact_commitment } = saved;
  return {
    expected: { payee, amountUnits: BigInt(amount_units), network },
    artifactCommitment: artifact_commitment,
  };
}

/** Signs the payment that a 402 asks for, and saves it. */
async function signPayment(run: Run, asked: unknown): Promise<void> {
  const { expected, artifactCommitment } = run.terms;
  run.saved = {
    version: 1,
    purpose: run.purpose,
    payee: expected.payee,
    amount_units: expected.amountUnits.toString(),
    network: expected.network,
    artifact_commitment: artifactCommitment,
    proof: await signAsked(run, asked),
    delivery_token: makeDeliveryToken(asked, run.options.client.environment),
  };
  // Those of an earlier payment are not this one's.
  Object.assign(run, { token: run.saved.delivery_token, slip: null, showsSlip: false });
  // Saved before it is sent: a crash in between must find the same proof again, and the token that collects.
  await run.store.save(run.storeKey, run.saved);
  run.failures = 0;
  reportProgress(run, 'signed');
}

/** Signs only to show who asks. It is sent with `collect` and nowhere else, and kept nowhere. */
async function signToCollect(run: Run, asked: unknown): Promise<void> {
  const { client, wallet, x402Version } = run.options;
  if (run.listingId === null) throw new TypeError('there is nothing to collect for a fee');
  const { expected } = run.terms;
  run.collectProof = await signCollecting({ client, wallet, listingId: run.listingId, expected, asked, x402Version });
  run.failures = 0;
  reportProgress(run, 'collecting');
}

async function signAsked(run: Run, asked: unknown): Promise<PaymentProof> {
  const { client, wallet, x402Version } = run.options;
  if (!(asked instanceof MarketError)) throw asked;
  if (run.terms.expected.amountUnits === 0n) throw new TermsRefused('wrong_amount', 'this costs nothing');
  const required = readPaymentRequired({ header: asked.header('payment-required'), body: asked.body() }, x402Version);
  return signProof(wallet, required, run.terms.expected, client.environment);
}

const BODY_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const PREFIX = /^[a-z][a-z0-9]{1,15}_dt_$/;

/**
 * A token of our own for the payment that is about to be opened, where the market takes one: its 402 to a request without a key names how
 * such a token begins. So what collects the goods is known and kept before anything is sent.
 */
export function makeDeliveryToken(asked: unknown, { randomBytes }: Pick<Environment, 'randomBytes'>): string | null {
  const prefix = asked instanceof MarketError ? asked.problem['delivery_token_prefix'] : undefined;
  if (typeof prefix !== 'string' || !PREFIX.test(prefix)) return null;
  const chance = randomBytes(32).reduce((value, byte) => value * 256n + BigInt(byte), 0n);
  const text = prefix + base62(chance, BODY_LENGTH);
  return text + base62(crc32(text), CHECKSUM_LENGTH);
}

/** Of ASCII. Browsers have none of their own. */
function crc32(text: string): bigint {
  let rest = 0xffffffff;
  for (const character of text) {
    rest ^= character.charCodeAt(0);
    for (let bit = 0; bit < 8; bit += 1) rest = (rest & 1) === 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  }
  return BigInt((rest ^ 0xffffffff) >>> 0);
}
