import { parseTransaction } from 'viem';
import { readBlock, type StateBlock } from '../platform/chain/reads.ts';
import { RpcFailure } from '../platform/chain/rpc.ts';
import { readAuthorizationState, readBalance, readBlacklisted, readPaused } from '../platform/chain/usdc.ts';
import { nextCooldown, paysForGas, unitsOfWei } from './budget/gas-budget.ts';
import { type Context, incrementCount } from './context.ts';
import { type Ending, type Entry, keyOf, lossOf, newestOf, type SignedTransaction } from './journal/entry.ts';
import type { Mined } from './read-mined.ts';

/** After a revert for one of these causes, `isTried` is false for the payer. Only `unknown` also starts a cooldown. */
const PAYER_CAUSES: readonly Cause[] = ['balance', 'unknown'];

export interface Conclude {
  /** Records, only once, that a transaction of the entry was mined, what it cost, and the consequences for its payer. */
  recordMined(entry: Readonly<Entry>, transaction: SignedTransaction, mined: Mined): Promise<void>;
  /** Records that none of the entry's transactions can still be mined. */
  recordLost(entry: Readonly<Entry>): Promise<void>;
  onEnd(listener: (entry: Readonly<Entry>) => void): void;
  /** True if a settlement of this payer has succeeded, and none has reverted since for one of `PAYER_CAUSES`. */
  isTried(payer: string): boolean;
}

export function createConclude(context: Context): Conclude {
  const { journal, clock, budget, payerQueue, counts, limits, log, nonces, crashPoint } = context;
  const listeners: ((entry: Readonly<Entry>) => void)[] = [];
  const pending = new Map<string, Promise<void>>();
  /** Entries whose loss was counted, because an entry may end a second time after a reorganisation. */
  const chargedEntries = new WeakSet<Readonly<Entry>>();
  const triedPayers = new Map<string, boolean>();
  const entries = [...journal.all()].sort((a, b) => (a.ending?.at ?? 0) - (b.ending?.at ?? 0));
  for (const { ending, authorization } of entries) {
    if (ending !== null) recordTried(triedPayers, authorization.from, ending);
  }

  const end = async (entry: Readonly<Entry>, ending: Ending): Promise<void> => {
    const { from } = entry.authorization;
    const isFirst = !chargedEntries.has(entry);
    chargedEntries.add(entry);
    const isCoolingDown = isFirst && ending.state === 'reverted' && ending.cause === 'unknown';
    const cooldown = isCoolingDown ? nextCooldown(from, journal.cooldowns().get(from), clock.now(), limits) : null;
    const written = journal.end(entry, ending, cooldown);
    // Count the loss before the write ends. Otherwise neither the reserve nor the loss would count during the write, because the entry is
    // no longer in flight.
    const loss = lossOf({ ...entry, ending });
    if (isFirst && loss !== null) budget.addLoss(loss);
    await written;
    crashPoint('after_ending_written');
    recordTried(triedPayers, from, ending);
    incrementCount(counts.ended, ending.state);
    if (ending.cause !== null) incrementCount(counts.causes, ending.cause);
    if (ending.hash === null) nonces.distrust();
    else nonces.confirm();
    payerQueue.wake(from);
    for (const listener of listeners) listener(entry);
    const fields = { transaction_hash: ending.hash, payer: from, state: ending.state, why: ending.cause ?? undefined };
    if (ending.state === 'reverted') log.warn('settlement_reverted', fields);
    log.info('settlement_ended', fields);
    if (cooldown !== null) counts.cooldowns += 1;
    if (cooldown !== null) log.warn('payer_cooldown_started', { payer: from, count: cooldown.strikes });
  };
  const runOnce = (entry: Readonly<Entry>, act: () => Promise<void>): Promise<void> => {
    const key = keyOf(entry.authorization);
    const running = pending.get(key) ?? act().finally(() => pending.delete(key));
    pending.set(key, running);
    return running;
  };
  return {
    recordMined: (entry, transaction, mined) =>
      runOnce(entry, async () => {
        if (entry.ending !== null) return;
        const ending = await endingOf(context, entry, transaction, mined);
        counts.gasUsed += mined.gasUsed;
        counts.gasPaidUnits += unitsOfWei(mined.costWei, context.etherUnits);
        crashPoint('before_ending_written');
        await end(entry, ending);
      }),
    recordLost: (entry) =>
      runOnce(entry, async () => {
        if (entry.ending !== null) return;
        const noCost = { hash: null, blockNumber: null, gasUsed: 0n, costWei: 0n, lossUnits: 0n, cause: null };
        await end(entry, { ...noCost, state: 'replaced', at: clock.now() });
      }),
    onEnd: (listener) => void listeners.push(listener),
    isTried: (payer) => triedPayers.get(payer) ?? journal.isKnown(payer as `0x${string}`),
  };
}

async function endingOf(
  context: Context,
  entry: Readonly<Entry>,
  transaction: SignedTransaction,
  mined: Mined,
): Promise<Ending> {
  const costUnits = unitsOfWei(mined.costWei, context.etherUnits);
  const { hash } = transaction;
  const { blockNumber, gasUsed, costWei } = mined;
  const common = { at: context.clock.now(), hash, blockNumber, gasUsed, costWei };
  if (transaction.fills) return { ...common, state: 'replaced', lossUnits: costUnits, cause: null };
  if (mined.status === 'success') {
    const lossUnits = paysForGas(entry.authorization.value, costUnits) ? 0n : costUnits;
    return { ...common, state: 'succeeded', lossUnits, cause: null };
  }
  return { ...common, state: 'reverted', lossUnits: costUnits, cause: await findCause(context, entry, mined) };
}

function recordTried(triedPayers: Map<string, boolean>, payer: string, { state, cause }: Ending): void {
  if (state === 'succeeded') triedPayers.set(payer, true);
  if (state === 'reverted' && PAYER_CAUSES.some((payerCause) => payerCause === cause)) triedPayers.set(payer, false);
}

/**
 * Cause of the failure of a mined settlement. Most causes happen to honest payers: another transaction used or cancelled the authorization,
 * the token was paused or blocked a wallet, the transaction came too late, or the payer spent the money elsewhere. `unknown` stands for
 * everything else, which points to the payer's own contract.
 */
type Cause = 'nonce_used' | 'usdc_paused' | 'usdc_blocked' | 'expired' | 'balance' | 'unknown';

/**
 * Maximum gas of an early revert, without the call data. The token checks pause, blocked wallets, times and nonce before it calls the
 * payer's contract.
 */
const EARLY_GAS = 81_000n;
const GAS_PER_BYTE = 40n;
/**
 * The token checks the balance after the signature. If a revert used more gas than this, the payer's contract did more than check a
 * signature.
 */
const SIGNATURE_GAS = 250_000n;

async function findCause(context: Context, entry: Readonly<Entry>, mined: Mined): Promise<Cause> {
  try {
    return await judgeRevert(context, entry, mined, mined.blockNumber);
  } catch (error) {
    // The node may keep no state of past blocks, so read the newest state.
    if (error instanceof RpcFailure && error.kind === 'error') return judgeRevert(context, entry, mined, 'latest');
    throw error;
  }
}

async function judgeRevert(
  { rpc, network }: Context,
  entry: Readonly<Entry>,
  mined: Mined,
  at: StateBlock,
): Promise<Cause> {
  const { usdc } = network;
  const { from, to, nonce, value, validBefore } = entry.authorization;
  const [block, used, paused, payerBlocked, payeeBlocked, balance] = await Promise.all([
    readBlock(rpc, mined.blockNumber),
    readAuthorizationState(rpc, usdc, { authorizer: from, nonce }, at),
    readPaused(rpc, usdc, at),
    readBlacklisted(rpc, usdc, from, at),
    readBlacklisted(rpc, usdc, to, at),
    readBalance(rpc, usdc, from, at),
  ]);
  if (mined.gasUsed <= earlyGas(entry)) {
    if (used) return 'nonce_used';
    if (paused) return 'usdc_paused';
    if (payerBlocked || payeeBlocked) return 'usdc_blocked';
    if (block !== null && block.timestamp >= validBefore) return 'expired';
  }
  return balance < value && mined.gasUsed <= SIGNATURE_GAS ? 'balance' : 'unknown';
}

function earlyGas(entry: Readonly<Entry>): bigint {
  const { data = '0x' } = parseTransaction(newestOf(entry).raw);
  return EARLY_GAS + (GAS_PER_BYTE * BigInt(data.length - 2)) / 2n;
}
