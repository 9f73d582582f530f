import { readAuthorizationState, readBalance } from '../platform/chain/usdc-reads.ts';
import { restingSeconds } from './budget/rests.ts';
import { Deferred } from './chain-trouble.ts';
import { checkSignature } from './check-signature.ts';
import type { Context } from './context.ts';
import { openExchange, type Rehearsal } from './open-exchange.ts';
import type { PaymentRequest } from './read-request.ts';

/** unknown: the chain could not be asked; says nothing about the payment. deferred: it would not be settled now. */
export type Verdict =
  | { kind: 'valid' }
  | { kind: 'invalid'; reason: string }
  | { kind: 'deferred'; reason: Deferred['reason']; retryAfterSeconds: number }
  | { kind: 'unknown'; cause: unknown };

export const INVALID_SIGNATURE = 'invalid_exact_evm_signature';
export const NONCE_USED = 'invalid_exact_evm_nonce_already_used';
export const FAILED = 'invalid_exact_evm_transaction_failed';
const INSUFFICIENT_BALANCE = 'invalid_exact_evm_insufficient_balance';
const SIMULATION_FAILED = 'invalid_exact_evm_transaction_simulation_failed';

/** For /verify: signature, terms and a rehearsal, for what has no transaction yet. */
export async function verifyPayment(context: Context, request: PaymentRequest): Promise<Verdict> {
  try {
    if (!(await checkSignature(context, request))) return { kind: 'invalid', reason: INVALID_SIGNATURE };
    const ending = context.journal.find(request.authorization)?.ending;
    const isOver = ending?.state === 'reverted' || ending?.state === 'replaced';
    if (isOver || context.journal.isBlocked(request.authorization)) {
      return { kind: 'invalid', reason: FAILED };
    }
    refuseResting(context, request);
    return await checkTerms(context, request, 'now');
  } catch (cause) {
    if (cause instanceof Deferred) return { ...deferred(cause) };
    return unknown(cause);
  }
}

/** What the reference code says of it, with a reason of the chain's where that has none. */
export async function checkTerms(context: Context, request: PaymentRequest, rehearsal: Rehearsal): Promise<Verdict> {
  const exchange = openExchange(context, rehearsal);
  const answer = await exchange.facilitator.verify(request.payload, request.requirements);
  if (answer.isValid) return { kind: 'valid' };
  const trouble = exchange.trouble();
  const reason = answer.invalidReason ?? SIMULATION_FAILED;
  if (reason !== SIMULATION_FAILED) return trouble === null ? { kind: 'invalid', reason } : unknown(trouble);
  // The reference code asks Multicall3 for the cause, which not every chain has.
  return { kind: 'invalid', reason: await explainFailure(context, request) };
}

export function refuseResting({ journal, clock }: Context, { authorization }: PaymentRequest): void {
  const seconds = restingSeconds(journal.rests().get(authorization.from), clock.now());
  if (seconds > 0) throw new Deferred('payer_resting', seconds);
}

export function deferred({ reason, retryAfterSeconds }: Deferred) {
  return { kind: 'deferred', reason, retryAfterSeconds } as const;
}

/** Why a transfer that looked right cannot be made. */
export async function explainFailure({ rpc, network }: Context, { authorization }: PaymentRequest): Promise<string> {
  const { from, nonce, value } = authorization;
  const [used, balance] = await Promise.all([
    readAuthorizationState(rpc, network.usdc, from, nonce, 'latest'),
    readBalance(rpc, network.usdc, from),
  ]);
  if (used) return NONCE_USED;
  return balance < value ? INSUFFICIENT_BALANCE : SIMULATION_FAILED;
}

function unknown(cause: unknown): Verdict {
  return { kind: 'unknown', cause };
}
