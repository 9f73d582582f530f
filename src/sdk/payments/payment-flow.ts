import { base62 } from '../../contract/base62.ts';
import { own } from '../../contract/own-words.ts';
import type { Environment } from '../environment.ts';
import { type AnyReason, isGatewayFault, MarketError, UnreadableAnswer } from '../errors.ts';
import { saidOf, TermsRefused } from './payment-errors.ts';
import { type PaymentProof, signProof } from './payment-proof.ts';
import { readPaymentRequired } from './payment-required.ts';
import {
  GATEWAY_TRIES,
  type PaymentFlow,
  type Pending,
  type Run,
  readThroughGateway,
  reportProgress,
  secondsLeft,
  type Terms,
  takeTurn,
  undecidedError,
} from './payment-run.ts';
import { loadPayment, memoryOf, type SavedPayment } from './proof-store.ts';
import { signCollecting } from './sign-to-collect.ts';
import { signingTime } from './signing-clock.ts';

type Outcome<Done> = { done: Done } | { pending: Pending } | { error: unknown };

/**
 * Asks, signs once, and sends the same proof until the goods come, a refusal is final, or the caller's patience ends. The caller
 * clears the store once it is content with what came.
 */
export async function runPaymentFlow<Done>(flow: PaymentFlow<Done>): Promise<{ done: Done; run: Run<Done> }> {
  const run = await beginRun(flow);
  for (;;) {
    const outcome = await sendAttempt(run);
    if ('done' in outcome) return { done: outcome.done, run };
    if ('pending' in outcome) await takeTurn(run, outcome);
    else await answerRefusal(run, outcome.error);
  }
}

async function sendAttempt<Done>(run: Run<Done>): Promise<Outcome<Done>> {
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
      run.wasPending = true;
      await saveTokenAndSlip(run, answer.pending.delivery_token ?? null, answer.pending.recovery_slip);
    }
    return answer;
  } catch (error) {
    if (!(error instanceof MarketError || error instanceof UnreadableAnswer)) throw error;
    run.failures += 1;
    run.knownToExist ||= saysPaymentIsOpen(error);
    if (error instanceof MarketError) {
      await saveTokenAndSlip(run, error.deliveryToken(), error.problem['recovery_slip']);
    }
    return { error };
  }
}

async function answerRefusal(run: Run, error: unknown): Promise<void> {
  switch (nextStep(error, flowStateOf(run))) {
    case 'wait':
      return takeTurn(run, { error });
    case 'sign':
      return signPayment(run, error);
    case 'collect':
      run.collecting = true;
      return;
    case 'sign_to_collect':
      return signToCollect(run, error);
    case 'buy':
      return stopCollecting(run);
    case 'ask_again':
      return forgetLapsed(run);
    case 'stop':
      if (error instanceof MarketError && mayShowSlip(run)) return;
      if (error instanceof MarketError) throw saidOf(error);
      throw undecidedError(run, 'The market cannot be understood', error);
  }
}

/** The goods are not this wallet's yet: from here on it is an ordinary purchase. */
function stopCollecting(run: Run): void {
  Object.assign(run, { collecting: false, collectingFirst: false, collectProof: null, failures: 0 });
}

// The lapsed proof stays in the store until another takes its place, so that a crash here does not forget it.
async function forgetLapsed(run: Run): Promise<void> {
  const terms: Terms = await run.readTerms();
  const fresh = { saved: null, token: null, submitted: false, wasPending: false, knownToExist: false };
  Object.assign(run, { ...fresh, terms, askedAgain: true });
}

/** A refusal may come of books that lack the payment. Only then it is worth its bytes: the same is asked once more, with the slip. */
function mayShowSlip(run: Run): boolean {
  if (run.slip === null || run.showsSlip) return false;
  run.showsSlip = true;
  return true;
}

/** Far above any that a market makes: a store must be able to keep them, whatever a market sends. */
const LONGEST_KEPT = 16_384;

async function saveTokenAndSlip(run: Run, givenToken: string | null, givenSlip: unknown): Promise<void> {
  const token = givenToken === null || givenToken.length > LONGEST_KEPT ? run.token : givenToken;
  const slip = typeof givenSlip === 'string' && givenSlip.length <= LONGEST_KEPT ? givenSlip : run.slip;
  if (token === run.token && slip === run.slip) return;
  Object.assign(run, { token, slip });
  if (run.saved === null) return;
  run.saved = { ...run.saved, delivery_token: token, ...(slip === null ? {} : { recovery_slip: slip }) };
  await run.store.save(run.storeKey, run.saved);
}

function flowStateOf(run: Run): FlowState {
  const proof = run.collecting ? run.collectProof : (run.saved?.proof ?? null);
  return {
    signed: run.saved !== null,
    secondsLeft: secondsLeft(run, proof),
    knownToExist: run.knownToExist,
    collecting: run.collecting,
    mayBuyInstead: run.collectingFirst && run.terms.isNewerVersion !== true,
    collectingFirst: run.collectingFirst,
    signedToCollect: run.collectProof !== null,
    canCollect: run.listingId !== null,
    mayPayAgain: run.options.mayPayAgain === true && run.options.recoverySlip === undefined && !run.askedAgain,
    failures: run.failures,
  };
}

/** Picks up a payment that was begun earlier, or starts without one. */
async function beginRun<Done>(flow: PaymentFlow<Done>): Promise<Run<Done>> {
  const { options, storeKey } = flow;
  const store = options.proofStore ?? memoryOf(options.client);
  const saved = await loadPayment(store, storeKey);
  const showsSlip = options.recoverySlip !== undefined;
  const isCollect = showsSlip || options.collectOnly === true;
  const readTerms = (): Promise<Terms> => readThroughGateway(options, flow.readTerms);
  const terms = saved === null ? await readTerms() : termsOf(saved);
  const isFirst = saved === null && flow.listingId !== null && !isCollect && flow.collectsFirst?.(terms) === true;
  return {
    ...flow,
    readTerms,
    store,
    saved,
    terms,
    token: saved?.delivery_token ?? null,
    slip: options.recoverySlip ?? saved?.recovery_slip ?? null,
    showsSlip,
    submitted: false,
    wasPending: false,
    collecting: isFirst || (isCollect && saved === null && flow.listingId !== null),
    collectingFirst: isFirst,
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
    proof: await signRequiredPayment(run, asked),
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
  try {
    run.collectProof = await signCollecting({ client, wallet, listingId: run.listingId, expected, asked, x402Version });
  } catch (error) {
    // A market that is reached under another name can be paid, and shows nothing that could safely be signed to collect.
    if (!(error instanceof TermsRefused) || error.why !== 'other_market' || !flowStateOf(run).mayBuyInstead)
      throw error;
    return stopCollecting(run);
  }
  run.failures = 0;
  if (!run.collectingFirst) reportProgress(run, 'collecting');
}

async function signRequiredPayment(run: Run, asked: unknown): Promise<PaymentProof> {
  const { client, wallet, x402Version } = run.options;
  if (!(asked instanceof MarketError)) throw asked;
  if (run.terms.expected.amountUnits === 0n) {
    const nextStep = own`Call again. If it is asked for money still, do not pay until the market’s operator has explained it.`;
    throw new TermsRefused('wrong_amount', own`this costs nothing, and a payment was asked for`, { nextStep });
  }
  const required = readPaymentRequired({ header: asked.header('payment-required'), body: asked.body() }, x402Version);
  const nowMs = signingTime(client);
  return signProof(wallet, required, run.terms.expected, { ...client.environment, now: () => nowMs });
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

/**
 * `buy`: there is nothing to collect, so it is bought. `ask_again`: forget the lapsed proof and ask what is to be signed. `stop`: throw
 * what came.
 */
type NextStep = 'wait' | 'sign' | 'collect' | 'sign_to_collect' | 'buy' | 'ask_again' | 'stop';

/** How the purchase stands when a refusal arrives. */
interface FlowState {
  /** A proof was signed for it, in this process or before a restart. */
  signed: boolean;
  /** What is left of the window of the proof in hand, by our clock. At 0 it can no longer be submitted. */
  secondsLeft: number;
  /** An answer said that a payment of this buyer is under way. */
  knownToExist: boolean;
  collecting: boolean;
  /** It is asked whether the goods are this wallet's before anything is paid. */
  collectingFirst: boolean;
  /** The same, of goods of which no older version could be this wallet's. */
  mayBuyInstead: boolean;
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
/** A contract has to say yes at the finalized block as well, which a new one does not. */
const REFUSES_COLLECTING: readonly AnyReason[] = ['payment_invalid', 'payment_required', 'payer_contract_refused'];
const UNDER_WAY: readonly AnyReason[] = ['verification_pending', 'settlement_pending', 'facilitator_refused'];

/** True for a refusal which says that a payment of this buyer is open. */
function saysPaymentIsOpen(error: unknown): boolean {
  return error instanceof MarketError && UNDER_WAY.includes(error.reason);
}

/** What to do about a refusal. Never leads to a second signature while the first could still be used. */
function nextStep(error: unknown, state: FlowState): NextStep {
  if (error instanceof UnreadableAnswer) return waitOrStop(state, error);
  if (!(error instanceof MarketError)) return 'stop';
  if (state.collectingFirst && isNotOurs(error, state)) return 'buy';
  if (error.reason === 'payment_required') return whenAsked(state);
  if (error.reason === 'sign_to_collect') return state.canCollect && !state.collecting ? 'collect' : 'stop';
  if (error.reason === 'authorization_lapsed' || error.reason === 'payment_invalid') return whenOver(error, state);
  const passing = error.status >= 500 || error.status === 429;
  const retryable = error.problem.retry === 'same_proof' || error.problem.retry === 'same_request';
  return passing && retryable ? waitOrStop(state, error) : 'stop';
}

/**
 * The plain no to who asks for goods without paying. A market that does not take the signature over nothing has not said whose they are:
 * then only goods are bought that nobody could have but by a payment.
 */
function isNotOurs({ reason }: MarketError, { signedToCollect, secondsLeft: left, mayBuyInstead }: FlowState): boolean {
  if (reason === 'nothing_to_collect') return true;
  const isRefused = signedToCollect && REFUSES_COLLECTING.includes(reason);
  return isRefused && left > TOO_SHORT_SECONDS && mayBuyInstead;
}

/** A proxy that does not reach the market is borne like the market's own word that it is away. */
function waitOrStop(state: FlowState, error: MarketError | UnreadableAnswer): NextStep {
  const isGateway = isGatewayFault(error);
  const isNonsense = error instanceof UnreadableAnswer && error.why !== 'no_answer' && !isGateway;
  const whenSigned = isNonsense ? PATIENCE_UNREADABLE : Number.POSITIVE_INFINITY;
  const whenUnsigned = isGateway ? GATEWAY_TRIES : PATIENCE_UNSIGNED;
  const bound = state.signed || state.knownToExist ? whenSigned : whenUnsigned;
  return state.failures < bound ? 'wait' : 'stop';
}

function whenAsked(state: FlowState): NextStep {
  if (state.collecting) return state.signedToCollect ? 'stop' : 'sign_to_collect';
  // A market that asks again after a proof may hold that proof: a second signature could pay twice.
  if (state.signed) return 'stop';
  return state.knownToExist && !state.mayPayAgain ? 'stop' : 'sign';
}

function whenOver(error: MarketError, state: FlowState): NextStep {
  // The window of a collecting signature ran out on the way; it moves no money, so another may follow once it is over.
  if (state.collecting) {
    return error.reason === 'payment_invalid' && state.secondsLeft <= TOO_SHORT_SECONDS ? 'wait' : 'stop';
  }
  if (!state.signed || state.secondsLeft > 0) return 'stop';
  // An earlier payment of this wallet is open, and this proof only showed who asks.
  if (error.reason === 'payment_invalid' && state.knownToExist) return state.canCollect ? 'collect' : 'stop';
  return state.mayPayAgain && error.doNotPayAgain === false ? 'ask_again' : 'stop';
}
