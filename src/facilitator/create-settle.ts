import { parseTransaction } from 'viem';
import { readCode } from '../platform/chain/reads.ts';
import { readBalance } from '../platform/chain/usdc.ts';
import type { Hex } from '../platform/hex.ts';
import { type CheckedSignature, CODE_CACHED_MS, type Context, incrementCount, keyOfRequest } from './context.ts';
import type { Sender } from './create-sender.ts';
import { awaitEnding, type Following, findElsewhere } from './follow.ts';
import { type Entry, newestOf, sameAuthorization } from './journal/entry.ts';
import { ChainTrouble, Deferred, type Settlement, settleData, TransferRefused } from './outcomes.ts';
import type { PaymentRequest } from './read-request.ts';
import {
  checkSignature,
  deferredVerdict,
  explainFailure,
  FAILED,
  INVALID_SIGNATURE,
  refuseInCooldown,
  timeRefusal,
} from './verify-payment.ts';

export interface Settle {
  (request: PaymentRequest): Promise<Settlement>;
  idle(): Promise<void>;
}

interface SettleDependencies extends Following {
  sender: Sender;
}

const BUSY_SECONDS = 10;

/**
 * Concurrent requests for the same payment share one settlement, which continues even when no request waits for it any more. A request with
 * another signature is a settlement of its own, so that a forged one cannot block the real one. The sender creates only one entry for each
 * authorization.
 */
export function createSettle(dependencies: SettleDependencies): Settle {
  const { context } = dependencies;
  const { clock, log, timing } = context;
  const running = new Map<string, Promise<Settlement>>();
  const start = (key: string, request: PaymentRequest): Promise<Settlement> => {
    const settlement = settleOnce(dependencies, request)
      .catch(
        (cause: unknown): Settlement =>
          cause instanceof Deferred ? deferredVerdict(cause) : { kind: 'unknown', cause },
      )
      .finally(() => running.delete(key));
    running.set(key, settlement);
    return settlement;
  };
  const settle = async (request: PaymentRequest): Promise<Settlement> => {
    const key = keyOfRequest(request);
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

async function settleOnce(dependencies: SettleDependencies, request: PaymentRequest): Promise<Settlement> {
  const { context } = dependencies;
  const deadlineAt = context.clock.now() + context.timing.confirmationMs;
  const entry = context.journal.find(request.authorization);
  // A contract wallet may reject the signature by now, but this transaction was sent for exactly this request.
  if (entry !== null && isSentFor(entry, request)) return followEarlier(dependencies, request, entry, deadlineAt);
  const signed = context.verified.take(request) ?? (await checkSignature(context, request));
  if (!signed.isValid) return refuse(INVALID_SIGNATURE);
  if (entry !== null) return followEarlier(dependencies, request, entry, deadlineAt);
  if (context.journal.isBlocked(request.authorization)) {
    return (await findElsewhere(context, request.authorization)) ?? refuse(FAILED);
  }
  const reason = timeRefusal(context, request);
  if (reason !== null) return findElsewhereOrRefuse(context, request, reason);
  try {
    const sent = await sendInTurn(dependencies, request, signed);
    if (!sameAuthorization(sent.authorization, request.authorization)) throw conflictInFlight();
    return await awaitEnding(dependencies, sent, { deadlineAt, isFresh: true });
  } catch (error) {
    if (error instanceof TransferRefused)
      return findElsewhereOrRefuse(context, request, await explainFailure(context, request));
    throw error;
  }
}

/** Waits for a transaction that was signed earlier. Sends nothing more after a revert. */
async function followEarlier(
  dependencies: SettleDependencies,
  { authorization }: PaymentRequest,
  entry: Readonly<Entry>,
  deadlineAt: number,
): Promise<Settlement> {
  const { context, sender } = dependencies;
  if (!sameAuthorization(entry.authorization, authorization)) {
    const elsewhere = await findElsewhere(context, authorization);
    if (elsewhere === null && entry.ending === null) throw conflictInFlight();
    return elsewhere ?? refuse(FAILED);
  }
  if (sender.isRefused(entry)) await sender.offerAgain(entry);
  return awaitEnding(dependencies, entry, { deadlineAt, isFresh: false });
}

async function sendInTurn(
  { context, sender, conclude }: SettleDependencies,
  request: PaymentRequest,
  signed: CheckedSignature,
): Promise<Readonly<Entry>> {
  const { authorization, signature } = request;
  const { from, value, validBefore } = authorization;
  const { clock, journal, rpc, network, payerQueue } = context;
  refuseInCooldown(context, request);
  const admission = await payerQueue.enter({
    payer: from,
    value,
    inFlight: () => {
      const open = journal.openEntriesOf(from);
      return { count: open.length, value: open.reduce((sum, one) => sum + one.authorization.value, 0n) };
    },
    isTried: () => conclude.isTried(from),
    readBalance: () => readBalance(rpc, network.usdc, from),
    deadlineAt: Number(validBefore) * 1000,
  });
  if ('kind' in admission) {
    if (admission.kind === 'late') throw new ChainTrouble('its turn did not come in time');
    incrementCount(context.counts.deferred, 'payer_busy');
    throw new Deferred('payer_busy', BUSY_SECONDS);
  }
  try {
    // Check again, because an earlier settlement of this payer may have failed meanwhile.
    refuseInCooldown(context, request);
    const isOld = signed.readAt + CODE_CACHED_MS <= clock.now();
    const hasCode = isOld ? (await readCode(rpc, from, 'latest')) !== '0x' : signed.hasCode;
    return await sender.send(authorization, { hasCode, data: settleData(authorization, signature) });
  } finally {
    admission.leave();
  }
}

async function findElsewhereOrRefuse(
  context: Context,
  { authorization }: PaymentRequest,
  reason: string,
): Promise<Settlement> {
  return (await findElsewhere(context, authorization)) ?? refuse(reason);
}

/** True if the entry was sent with exactly this signature. */
function isSentFor({ transactions: [first] }: Readonly<Entry>, { authorization, signature }: PaymentRequest): boolean {
  return first !== undefined && parseTransaction(first.raw).data === settleData(authorization, signature);
}

function conflictInFlight(): ChainTrouble {
  return new ChainTrouble('another authorization with this nonce is under way');
}

function hashOf({ journal }: Context, { authorization }: PaymentRequest): Hex | null {
  const entry = journal.find(authorization);
  if (entry === null || !sameAuthorization(entry.authorization, authorization)) return null;
  if (entry.ending === null) return newestOf(entry).hash;
  return entry.ending.state === 'succeeded' ? entry.ending.hash : null;
}

function refuse(reason: string): Settlement {
  return { kind: 'refused', reason, transaction: null };
}
