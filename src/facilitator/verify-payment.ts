import { readAuthorizationState, readBalance } from '../platform/chain/usdc-reads.ts';
import { checkSignature } from './check-signature.ts';
import type { Context } from './context.ts';
import type { Sender } from './create-sender.ts';
import { openExchange } from './open-exchange.ts';
import type { PaymentRequest } from './read-request.ts';

/** unknown: the chain could not be asked; says nothing about the payment. */
export type Verdict = { kind: 'valid' } | { kind: 'invalid'; reason: string } | { kind: 'unknown'; cause: unknown };

export const INVALID_SIGNATURE = 'invalid_exact_evm_signature';
export const NONCE_USED = 'invalid_exact_evm_nonce_already_used';
const INSUFFICIENT_BALANCE = 'invalid_exact_evm_insufficient_balance';
const SIMULATION_FAILED = 'invalid_exact_evm_transaction_simulation_failed';

export async function verifyPayment(context: Context, sender: Sender, request: PaymentRequest): Promise<Verdict> {
  try {
    if (!(await checkSignature(context, request))) return { kind: 'invalid', reason: INVALID_SIGNATURE };
    const exchange = openExchange(context, sender, request, 0);
    const answer = await exchange.facilitator.verify(request.payload, request.requirements);
    if (answer.isValid) return { kind: 'valid' };
    const trouble = exchange.trouble();
    const reason = answer.invalidReason ?? SIMULATION_FAILED;
    if (reason !== SIMULATION_FAILED) return trouble === null ? { kind: 'invalid', reason } : unknown(trouble);
    // The reference code asks Multicall3 for the cause, which not every chain has.
    return { kind: 'invalid', reason: await explainFailure(context, request) };
  } catch (cause) {
    return unknown(cause);
  }
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
