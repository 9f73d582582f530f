import { base62 } from '../../contract/base62.ts';
import { own } from '../../contract/own-words.ts';
import type { Environment } from '../environment.ts';
import { type AnyReason, isGatewayFault, MarketError, UnreadableAnswer } from '../errors.ts';
import { refusalToThrow, TermsRefused } from './payment-errors.ts';
import { type PaymentProof, signProof } from './payment-proof.ts';
import { readPaymentRequired } from './payment-required.ts';
import {
  GATEWAY_TRIES,
  type PaymentFlow,
  type PaymentRun,
  type Pending,
  pauseBeforeRetry,
  readThroughGateway,
  reportProgress,
  secondsLeft,
  type Terms,
  undecidedError,
} from './payment-run.ts';
import { loadPayment, memoryOf, type SavedPayment } from './proof-store.ts';
import { signCollecting } from './sign-to-collect.ts';
import { signingTime } from './signing-clock.ts';

type Outcome<Done> = { done: Done } | { pending: Pending } | { error: unknown };

/**
 * Asks for terms, signs once, and sends the same proof until the goods arrive, a refusal is final, or the wait ends. The caller clears the
 * store after checking the result.
 */
export async function runPaymentFlow<Done>(flow: PaymentFlow<Done>): Promise<{ done: Done; run: PaymentRun<Done> }> {
  const run = await beginRun(flow);
  for (;;) {
    const outcome = await sendAttempt(run);
    if ('done' in outcome) return { done: outcome.done, run };
    if ('pending' in outcome) await pauseBeforeRetry(run, outcome);
    else await answerRefusal(run, outcome.error);
  }
}

async function sendAttempt<Done>(run: PaymentRun<Done>): Promise<Outcome<Done>> {
  if (secondsLeft(run, run.collectProof) === 0) run.collectProof = null;
  const proof = run.collecting ? run.collectProof : run.saved?.proof;
  if (run.saved !== null && !run.submitted) {
    run.submitted = true;
    reportProgress(run, 'submitted');
  }
  try {
    // Collecting needs a signature instead of the token, which may belong to no payment.
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

async function answerRefusal(run: PaymentRun, error: unknown): Promise<void> {
  switch (nextStep(error, flowStateOf(run))) {
    case 'wait':
      return pauseBeforeRetry(run, { error });
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
      return forgetExpired(run);
    case 'stop':
      if (error instanceof MarketError && startShowingSlip(run)) return;
      if (error instanceof MarketError) throw refusalToThrow(error);
      throw undecidedError(run, 'The market’s answers can’t be read', error);
  }
}

/** Continues as an ordinary purchase, because the wallet doesn't own the goods. */
function stopCollecting(run: PaymentRun): void {
  Object.assign(run, { collecting: false, collectingFirst: false, collectProof: null, failures: 0 });
}

// The expired proof stays in the store until another replaces it, so that a crash here doesn't lose it.
async function forgetExpired(run: PaymentRun): Promise<void> {
  const terms: Terms = await run.readTerms();
  const fresh = { saved: null, token: null, submitted: false, wasPending: false, knownToExist: false };
  Object.assign(run, { ...fresh, terms, askedAgain: true });
}

/**
 * Adds the recovery slip to further requests, because the market may have lost the payment. False if there is none or it was added before.
 */
function startShowingSlip(run: PaymentRun): boolean {
  if (run.slip === null || run.showsSlip) return false;
  run.showsSlip = true;
  return true;
}

/** Far longer than any token or slip that a market makes. Limits what a store must keep. */
const LONGEST_KEPT = 16_384;

async function saveTokenAndSlip(run: PaymentRun, newToken: string | null, newSlip: unknown): Promise<void> {
  const token = newToken === null || newToken.length > LONGEST_KEPT ? run.token : newToken;
  const slip = typeof newSlip === 'string' && newSlip.length <= LONGEST_KEPT ? newSlip : run.slip;
  if (token === run.token && slip === run.slip) return;
  Object.assign(run, { token, slip });
  if (run.saved === null) return;
  run.saved = { ...run.saved, delivery_token: token, ...(slip === null ? {} : { recovery_slip: slip }) };
  await run.store.save(run.storeKey, run.saved);
}

function flowStateOf(run: PaymentRun): FlowState {
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

async function beginRun<Done>(flow: PaymentFlow<Done>): Promise<PaymentRun<Done>> {
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
async function signPayment(run: PaymentRun, refusal: unknown): Promise<void> {
  const { expected, artifactCommitment } = run.terms;
  run.saved = {
    version: 1,
    purpose: run.purpose,
    payee: expected.payee,
    amount_units: expected.amountUnits.toString(),
    network: expected.network,
    artifact_commitment: artifactCommitment,
    proof: await signRequiredPayment(run, refusal),
    delivery_token: makeDeliveryToken(refusal, run.options.client.environment),
  };
  // Token and slip of an earlier payment don't apply to the new one.
  Object.assign(run, { token: run.saved.delivery_token, slip: null, showsSlip: false });
  // Save before sending, because after a crash the same proof and token must be found again.
  await run.store.save(run.storeKey, run.saved);
  run.failures = 0;
  reportProgress(run, 'signed');
}

/** Signs an authorization of value 0, which proves the wallet's identity. It is sent only with `collect` and never stored. */
async function signToCollect(run: PaymentRun, refusal: unknown): Promise<void> {
  const { client, wallet, x402Version } = run.options;
  if (run.listingId === null) throw new TypeError('a fee has nothing to collect');
  const { expected } = run.terms;
  try {
    run.collectProof = await signCollecting({
      client,
      wallet,
      listingId: run.listingId,
      expected,
      refusal,
      x402Version,
    });
  } catch (error) {
    // A market reached under another address can be paid, but a collecting signature for this market would not be safe.
    if (!(error instanceof TermsRefused) || error.why !== 'other_market' || !flowStateOf(run).mayBuyInstead)
      throw error;
    return stopCollecting(run);
  }
  run.failures = 0;
  if (!run.collectingFirst) reportProgress(run, 'collecting');
}

async function signRequiredPayment(run: PaymentRun, refusal: unknown): Promise<PaymentProof> {
  const { client, wallet, x402Version } = run.options;
  if (!(refusal instanceof MarketError)) throw refusal;
  if (run.terms.expected.amountUnits === 0n) {
    const nextStep = own`Call again. If the market still asks for money, don’t pay until its operator explains it.`;
    throw new TermsRefused('wrong_amount', own`this is free, but the market asked for a payment`, { nextStep });
  }
  const required = readPaymentRequired(
    { header: refusal.header('payment-required'), body: refusal.body() },
    x402Version,
  );
  const nowMs = signingTime(client);
  return signProof(wallet, required, run.terms.expected, { ...client.environment, now: () => nowMs });
}

const BODY_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const PREFIX = /^[a-z][a-z0-9]{1,15}_dt_$/;

/**
 * Makes the delivery token of a new payment if the market accepts one, which it shows by naming the prefix in its 402 to a request without
 * a key. The token that collects the goods can then be saved before anything is sent.
 */
export function makeDeliveryToken(refusal: unknown, { randomBytes }: Pick<Environment, 'randomBytes'>): string | null {
  const prefix = refusal instanceof MarketError ? refusal.problem['delivery_token_prefix'] : undefined;
  if (typeof prefix !== 'string' || !PREFIX.test(prefix)) return null;
  const chance = randomBytes(32).reduce((value, byte) => value * 256n + BigInt(byte), 0n);
  const text = prefix + base62(chance, BODY_LENGTH);
  return text + base62(crc32(text), CHECKSUM_LENGTH);
}

/** Computes CRC-32 of an ASCII text, which browsers don't offer. */
function crc32(text: string): bigint {
  let rest = 0xffffffff;
  for (const character of text) {
    rest ^= character.charCodeAt(0);
    for (let bit = 0; bit < 8; bit += 1) rest = (rest & 1) === 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  }
  return BigInt((rest ^ 0xffffffff) >>> 0);
}

/** `buy`: there is nothing to collect, so pay. `ask_again`: drop the expired proof and ask for terms. `stop`: throw the refusal. */
type NextStep = 'wait' | 'sign' | 'collect' | 'sign_to_collect' | 'buy' | 'ask_again' | 'stop';

interface FlowState {
  /** True if a payment was signed, in this process or before a restart. */
  signed: boolean;
  /** Seconds left to submit the current proof. */
  secondsLeft: number;
  /** True if an answer said that a payment by this buyer is in progress. */
  knownToExist: boolean;
  collecting: boolean;
  /** True while asking, before paying, whether the wallet owns the goods. */
  collectingFirst: boolean;
  /** Like `collectingFirst`, but only for goods without an older version that the wallet could own. */
  mayBuyInstead: boolean;
  /** True if the wallet has signed for this collection. */
  signedToCollect: boolean;
  canCollect: boolean;
  /** True if the caller allows another payment should the first never be paid. */
  mayPayAgain: boolean;
  failures: number;
}

const MAX_FAILURES_UNSIGNED = 4;
const MAX_UNREADABLE_ANSWERS = 6;
/** The market refuses authorizations that end sooner. Includes some tolerance for clocks. */
const TOO_SHORT_SECONDS = 30;
/** `payer_contract_refused`: a contract must accept the signature at the finalized block too, where a new contract doesn't exist yet. */
const REFUSES_COLLECTING: readonly AnyReason[] = ['payment_invalid', 'payment_required', 'payer_contract_refused'];
const IN_PROGRESS: readonly AnyReason[] = ['verification_pending', 'settlement_pending', 'facilitator_refused'];

/** Whether a refusal says that a payment by this buyer is in progress. */
function saysPaymentIsOpen(error: unknown): boolean {
  return error instanceof MarketError && IN_PROGRESS.includes(error.reason);
}

/** Decides how to react to a refusal. Never leads to a second signature while the first could still be used. */
function nextStep(error: unknown, state: FlowState): NextStep {
  if (error instanceof UnreadableAnswer) return waitOrStop(state, error);
  if (!(error instanceof MarketError)) return 'stop';
  if (state.collectingFirst && isNotOurs(error, state)) return 'buy';
  if (error.reason === 'payment_required') return afterPaymentRequired(state);
  if (error.reason === 'sign_to_collect') return state.canCollect && !state.collecting ? 'collect' : 'stop';
  if (error.reason === 'authorization_lapsed' || error.reason === 'payment_invalid')
    return afterInvalidProof(error, state);
  const isFault = error.status >= 500 || error.status === 429;
  const isRetryable = error.problem.retry === 'same_proof' || error.problem.retry === 'same_request';
  return isFault && isRetryable ? waitOrStop(state, error) : 'stop';
}

/**
 * Whether to buy after this refusal, because the wallet doesn't own the goods. `nothing_to_collect` says so. A refused value-0 signature
 * doesn't prove it, and leads to buying only if the signature hadn't almost expired, and if the goods replace no older version. Buyers of an
 * older version may own these goods too; otherwise a wallet owns goods only if it has paid for them.
 */
function isNotOurs({ reason }: MarketError, { signedToCollect, secondsLeft: left, mayBuyInstead }: FlowState): boolean {
  if (reason === 'nothing_to_collect') return true;
  const isRefused = signedToCollect && REFUSES_COLLECTING.includes(reason);
  return isRefused && left > TOO_SHORT_SECONDS && mayBuyInstead;
}

/** Treats a proxy that can't reach the market like the market's own statement that it is unavailable. */
function waitOrStop(state: FlowState, error: MarketError | UnreadableAnswer): NextStep {
  const isGateway = isGatewayFault(error);
  const isUnreadable = error instanceof UnreadableAnswer && error.why !== 'no_answer' && !isGateway;
  const limitSigned = isUnreadable ? MAX_UNREADABLE_ANSWERS : Number.POSITIVE_INFINITY;
  const limitUnsigned = isGateway ? GATEWAY_TRIES : MAX_FAILURES_UNSIGNED;
  const failureLimit = state.signed || state.knownToExist ? limitSigned : limitUnsigned;
  return state.failures < failureLimit ? 'wait' : 'stop';
}

function afterPaymentRequired(state: FlowState): NextStep {
  if (state.collecting) return state.signedToCollect ? 'stop' : 'sign_to_collect';
  // The market may still hold the first proof, so a second signature could pay twice.
  if (state.signed) return 'stop';
  return state.knownToExist && !state.mayPayAgain ? 'stop' : 'sign';
}

function afterInvalidProof(error: MarketError, state: FlowState): NextStep {
  // A value-0 signature that expired on the way moves no money, so another may follow.
  if (state.collecting) {
    return error.reason === 'payment_invalid' && state.secondsLeft <= TOO_SHORT_SECONDS ? 'wait' : 'stop';
  }
  if (!state.signed || state.secondsLeft > 0) return 'stop';
  // An earlier payment by this wallet is in progress, and this proof only identified the wallet.
  if (error.reason === 'payment_invalid' && state.knownToExist) return state.canCollect ? 'collect' : 'stop';
  return state.mayPayAgain && error.doNotPayAgain === false ? 'ask_again' : 'stop';
}
