import { readCode } from '../platform/chain/reads.ts';
import { authorizationDigest } from '../platform/chain/shapes.ts';
import { checkContractSignature, recoverSigner } from '../platform/chain/signature.ts';
import { readAuthorizationState, readBalance } from '../platform/chain/usdc.ts';
import { cooldownSeconds } from './budget/gas-budget.ts';
import type { CheckedSignature, Context } from './context.ts';
import { Deferred, settleData, TransferRefused } from './outcomes.ts';
import type { PaymentRequest } from './read-request.ts';

/** unknown: the chain could not be read, which says nothing about the payment. deferred: a settlement would be postponed now. */
export type Verdict =
  | { kind: 'valid' }
  | { kind: 'invalid'; reason: string }
  | { kind: 'deferred'; reason: Deferred['reason']; retryAfterSeconds: number }
  | { kind: 'unknown'; cause: unknown };

/** Error reasons of the protocol's reference code, which callers know. */
export const INVALID_SIGNATURE = 'invalid_exact_evm_signature';
export const NONCE_USED = 'invalid_exact_evm_nonce_already_used';
export const FAILED = 'invalid_exact_evm_transaction_failed';
const TOO_LATE = 'invalid_exact_evm_payload_authorization_valid_before';
const TOO_EARLY = 'invalid_exact_evm_payload_authorization_valid_after';
const INSUFFICIENT_BALANCE = 'invalid_exact_evm_insufficient_balance';
const SIMULATION_FAILED = 'invalid_exact_evm_transaction_simulation_failed';

/** An authorization must still be valid for this many seconds, which is enough for a block. */
const SECONDS_LEFT = 6;

/** Checks signature and terms, and simulates the payment. Reports a wrong signature first, then a refusal that needs no simulation. */
export async function verifyPayment(context: Context, request: PaymentRequest): Promise<Verdict> {
  try {
    const refusal = localRefusal(context, request);
    const [signed, rehearsal] = await Promise.all([
      checkSignature(context, request),
      refusal === null ? rehearseTransfer(context, request) : null,
    ]);
    if (!signed.isValid) return { kind: 'invalid', reason: INVALID_SIGNATURE };
    if (refusal !== null) return refusal;
    if (rehearsal instanceof TransferRefused) {
      return { kind: 'invalid', reason: await explainFailure(context, request) };
    }
    if (rehearsal instanceof Error) return { kind: 'unknown', cause: rehearsal };
    context.verified.note(request, signed);
    return { kind: 'valid' };
  } catch (cause) {
    return { kind: 'unknown', cause };
  }
}

/** Returns the error instead of throwing it, because a wrong signature is reported before a failed transfer. */
async function rehearseTransfer(
  { quoteGas }: Context,
  { authorization, signature }: PaymentRequest,
): Promise<Error | null> {
  return quoteGas.call(settleData(authorization, signature)).then(
    () => null,
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  );
}

function localRefusal(context: Context, request: PaymentRequest): Verdict | null {
  const { journal } = context;
  const ending = journal.find(request.authorization)?.ending;
  const isOver = ending?.state === 'reverted' || ending?.state === 'replaced';
  if (isOver || journal.isBlocked(request.authorization)) return { kind: 'invalid', reason: FAILED };
  try {
    refuseInCooldown(context, request);
  } catch (cause) {
    if (cause instanceof Deferred) return deferredVerdict(cause);
    throw cause;
  }
  const reason = timeRefusal(context, request);
  return reason === null ? null : { kind: 'invalid', reason };
}

/** Returns null if one of the next blocks can accept the authorization. */
export function timeRefusal({ clock }: Context, { authorization }: PaymentRequest): string | null {
  const now = Math.floor(clock.now() / 1000);
  if (authorization.validBefore < BigInt(now + SECONDS_LEFT)) return TOO_LATE;
  return authorization.validAfter > BigInt(now) ? TOO_EARLY : null;
}

export function refuseInCooldown({ journal, clock }: Context, { authorization }: PaymentRequest): void {
  const seconds = cooldownSeconds(journal.cooldowns().get(authorization.from), clock.now());
  if (seconds > 0) throw new Deferred('payer_resting', seconds);
}

export function deferredVerdict({ reason, retryAfterSeconds }: Deferred) {
  return { kind: 'deferred', reason, retryAfterSeconds } as const;
}

/** Reads the chain to explain why the transfer would revert. */
export async function explainFailure({ rpc, network }: Context, { authorization }: PaymentRequest): Promise<string> {
  const { from, nonce, value } = authorization;
  const [used, balance] = await Promise.all([
    readAuthorizationState(rpc, network.usdc, { authorizer: from, nonce }, 'latest'),
    readBalance(rpc, network.usdc, from),
  ]);
  if (used) return NONCE_USED;
  return balance < value ? INSUFFICIENT_BALANCE : SIMULATION_FAILED;
}

/**
 * Checks the signature as the token does: the payer's contract checks it or, if there is none, the payer must be the signer. Throws if the
 * chain cannot be read.
 */
export async function checkSignature(
  { rpc, domain, clock }: Context,
  request: PaymentRequest,
): Promise<CheckedSignature> {
  const { authorization, signature } = request;
  const digest = authorizationDigest(domain, authorization);
  const readAt = clock.now();
  const hasCode = (await readCode(rpc, authorization.from, 'latest')) !== '0x';
  const isValid = hasCode
    ? await checkContractSignature(rpc, { wallet: authorization.from, digest, signature })
    : (await recoverSigner(digest, signature)) === authorization.from;
  return { isValid, hasCode, readAt };
}
