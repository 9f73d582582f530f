import { parseTransaction } from 'viem';
import { readBlock, type StateBlock } from '../platform/chain/reads.ts';
import { RpcFailure } from '../platform/chain/rpc.ts';
import { readAuthorizationState, readBalance, readBlacklisted, readPaused } from '../platform/chain/usdc.ts';
import { nextCooldown, paysForGas, unitsOfWei } from './budget/gas-budget.ts';
import { type Context, countOne } from './context.ts';
import { type Ending, type Entry, keyOf, lossOf, newestOf, type SignedTransaction } from './journal/entry.ts';
import type { Mined } from './read-mined.ts';

/** After these a payer is not counted as tried any more, though only the last of them makes it rest. */
const OWN_CAUSES: readonly Cause[] = ['balance', 'unknown'];

export interface Conclude {
  /** Writes down, once, that one of an entry's transactions was mined, what it cost, and what follows for its payer. */
  mined(entry: Readonly<Entry>, transaction: SignedTransaction, mined: Mined): Promise<void>;
  /** None of them can be mined any more. */
  lost(entry: Readonly<Entry>): Promise<void>;
  /** Told of every end, once it is noted. */
  onEnd(listener: (entry: Readonly<Entry>) => void): void;
  /** Whether the last settlement of this payer went through. */
  isTried(payer: string): boolean;
}

export function createConclude(context: Context): Conclude {
  const { journal, clock, budget, payerQueue, counts, limits, log, nonces, crashPoint } = context;
  const listeners: ((entry: Readonly<Entry>) => void)[] = [];
  const pending = new Map<string, Promise<void>>();
  /** What an entry was counted for: a reorganisation may end it a second time. */
  const charged = new WeakSet<Readonly<Entry>>();
  const tried = new Map<string, boolean>();
  const entries = [...journal.all()].sort((a, b) => (a.ending?.at ?? 0) - (b.ending?.at ?? 0));
  for (const { ending, authorization } of entries) {
    if (ending !== null) noteTried(tried, authorization.from, ending);
  }

  const end = async (entry: Readonly<Entry>, ending: Ending): Promise<void> => {
    const { from } = entry.authorization;
    const isFirst = !charged.has(entry);
    charged.add(entry);
    const isCoolingDown = isFirst && ending.state === 'reverted' && ending.cause === 'unknown';
    const cooldown = isCoolingDown ? nextCooldown(from, journal.cooldowns().get(from), clock.now(), limits) : null;
    const written = journal.end(entry, ending, cooldown);
    // At once: it is not in flight any more, and would count for nothing until the disk has it.
    const loss = lossOf({ ...entry, ending });
    if (isFirst && loss !== null) budget.note(loss);
    await written;
    crashPoint('after_ending_written');
    noteTried(tried, from, ending);
    countOne(counts.ended, ending.state);
    if (ending.cause !== null) countOne(counts.causes, ending.cause);
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
  const once = (entry: Readonly<Entry>, act: () => Promise<void>): Promise<void> => {
    const key = keyOf(entry.authorization);
    const running = pending.get(key) ?? act().finally(() => pending.delete(key));
    pending.set(key, running);
    return running;
  };
  return {
    mined: (entry, transaction, mined) =>
      once(entry, async () => {
        if (entry.ending !== null) return;
        const ending = await endingOf(context, entry, transaction, mined);
        counts.gasUsed += mined.gasUsed;
        counts.gasPaidUnits += unitsOfWei(mined.costWei, context.etherUnits);
        crashPoint('before_ending_written');
        await end(entry, ending);
      }),
    lost: (entry) =>
      once(entry, async () => {
        if (entry.ending !== null) return;
        const nothing = { hash: null, blockNumber: null, gasUsed: 0n, costWei: 0n, lossUnits: 0n, cause: null };
        await end(entry, { ...nothing, state: 'replaced', at: clock.now() });
      }),
    onEnd: (listener) => void listeners.push(listener),
    isTried: (payer) => tried.get(payer) ?? journal.isKnown(payer as `0x${string}`),
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

function noteTried(tried: Map<string, boolean>, payer: string, { state, cause }: Ending): void {
  if (state === 'succeeded') tried.set(payer, true);
  if (state === 'reverted' && OWN_CAUSES.some((own) => own === cause)) tried.set(payer, false);
}

/**
 * Why a settlement was mined and failed. Another transaction used or cancelled the authorization, the token did not move money, it came
 * too late, or the money went elsewhere: all of that happens to honest payers. unknown is what only the payer's own contract can bring
 * about.
 */
type Cause = 'nonce_used' | 'usdc_paused' | 'usdc_blocked' | 'expired' | 'balance' | 'unknown';

/** The token looks at pause, blocked wallets, times and nonce before it asks the payer's contract: such a revert is cheap. */
const EARLY_GAS = 81_000n;
const GAS_PER_BYTE = 40n;
/** The balance it looks at afterwards. What a contract took until then must be what a wallet takes to check a signature. */
const SIGNATURE_GAS = 250_000n;

async function findCause(context: Context, entry: Readonly<Entry>, mined: Mined): Promise<Cause> {
  try {
    return await judge(context, entry, mined, mined.blockNumber);
  } catch (error) {
    // A node without the states of past blocks; it still has the newest.
    if (error instanceof RpcFailure && error.kind === 'error') return judge(context, entry, mined, 'latest');
    throw error;
  }
}

async function judge({ rpc, network }: Context, entry: Readonly<Entry>, mined: Mined, at: StateBlock): Promise<Cause> {
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
