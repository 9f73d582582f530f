import { readAuthorizationState } from '../platform/chain/usdc-reads.ts';
import { type Hex, isHex } from '../platform/hex.ts';
import { checkSignature } from './check-signature.ts';
import type { Context } from './context.ts';
import { findLive, type Sender } from './create-sender.ts';
import { findSettlement } from './find-settlement.ts';
import { openExchange } from './open-exchange.ts';
import type { PaymentRequest } from './read-request.ts';
import { INVALID_SIGNATURE, NONCE_USED } from './verify-payment.ts';

/**
 * settled: in a block, with the transfer. pending: broadcast, or about to be where there is no hash yet; ask again with the same payment.
 * refused: nothing was paid, or a hash names the transaction that failed. unknown: nothing was broadcast and nothing could be found out.
 */
export type Settlement =
  | { kind: 'settled'; transaction: Hex }
  | { kind: 'pending'; transaction: Hex | null }
  | { kind: 'refused'; reason: string; transaction: Hex | null }
  | { kind: 'unknown'; cause: unknown };

export interface Settle {
  (request: PaymentRequest): Promise<Settlement>;
  /** Resolves when no settlement is under way. */
  idle(): Promise<void>;
}

const PENDING = 'settlement_pending';
const FAILED = 'invalid_exact_evm_transaction_failed';

/**
 * The same payment asked for several times at once is one settlement, and goes on when nobody waits for it any more. A request with
 * another signature is another settlement: a forged one must not stand in the way. They meet in the sender, which signs once.
 */
export function createSettle(context: Context, sender: Sender): Settle {
  const { clock, log, timing } = context;
  const running = new Map<string, Promise<Settlement>>();
  const start = (key: string, request: PaymentRequest): Promise<Settlement> => {
    const settlement = settleOnce(context, sender, request)
      .catch((cause: unknown): Settlement => ({ kind: 'unknown', cause }))
      .then((outcome) => orPending(context, request, outcome))
      .finally(() => running.delete(key));
    running.set(key, settlement);
    return settlement;
  };
  const settle = async (request: PaymentRequest): Promise<Settlement> => {
    const key = keyOf(request);
    const giveUp = new AbortController();
    const late = clock.sleep(timing.answerMs, giveUp.signal).then((): Settlement => {
      const hash = hashOf(context, request);
      if (hash === null && !giveUp.signal.aborted) log.warn('settlement_queued', { payer: request.authorization.from });
      return { kind: 'pending', transaction: hash };
    });
    try {
      return await Promise.race([running.get(key) ?? start(key, request), late]);
    } finally {
      giveUp.abort();
    }
  };
  return Object.assign(settle, {
    idle: async () => {
      while (running.size > 0) await Promise.all(running.values());
    },
  });
}

async function settleOnce(context: Context, sender: Sender, request: PaymentRequest): Promise<Settlement> {
  const { rpc, network, clock, timing } = context;
  const { authorization } = request;
  const deadlineAt = clock.now() + timing.confirmationMs;
  if (!(await checkSignature(context, request))) return refused(INVALID_SIGNATURE);
  const exchange = openExchange(context, sender, request, deadlineAt);
  const answer = await exchange.facilitator.settle(request.payload, request.requirements);
  const transaction = isHex(answer.transaction, 32) ? answer.transaction : null;
  if (answer.success && transaction !== null) return { kind: 'settled', transaction };
  if (answer.errorReason === PENDING && transaction !== null) return { kind: 'pending', transaction };
  // Whatever the cause, somebody else may have been faster. A failure here is not evidence that nothing was paid.
  const used = await readAuthorizationState(rpc, network.usdc, authorization.from, authorization.nonce, 'latest');
  if (used) return reconcile(context, request);
  const trouble = exchange.trouble();
  if (trouble !== null && transaction === null) return { kind: 'unknown', cause: trouble };
  return { kind: 'refused', reason: answer.errorReason ?? FAILED, transaction };
}

async function reconcile(context: Context, request: PaymentRequest): Promise<Settlement> {
  const transaction = await findSettlement(context, request.authorization);
  return transaction === null ? refused(NONCE_USED) : { kind: 'settled', transaction };
}

/** Once there is a transaction, not knowing is waiting. */
function orPending(context: Context, request: PaymentRequest, outcome: Settlement): Settlement {
  if (outcome.kind !== 'unknown') return outcome;
  const hash = hashOf(context, request);
  return hash === null ? outcome : { kind: 'pending', transaction: hash };
}

function hashOf(context: Context, { authorization }: PaymentRequest): Hex | null {
  return findLive(context, authorization)?.hash ?? null;
}

function refused(reason: string): Settlement {
  return { kind: 'refused', reason, transaction: null };
}

function keyOf({ authorization, signature }: PaymentRequest): string {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  return [from, nonce, to, value, validAfter, validBefore, signature].join(' ');
}
