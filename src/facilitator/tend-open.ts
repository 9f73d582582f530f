import { readBlock } from '../platform/chain/reads.ts';
import { paysForGas, unitsOfWei } from './budget/price.ts';
import type { Conclude } from './conclude.ts';
import type { Context } from './context.ts';
import { look } from './follow.ts';
import { type Entry, newestOf } from './journal/entry.ts';
import { isKnown, readTransactionCount } from './read-transaction.ts';
import { fillPlace, replaceStuck } from './replace.ts';
import { transmit } from './transmit.ts';

export interface Tending {
  stop(): Promise<void>;
}

/** Looks after everything that was signed and is not mined, those of before a restart first. */
export function tendOpen(context: Context, conclude: Conclude): Tending {
  const { clock, log, timing } = context;
  const stopping = new AbortController();
  const startedAt = clock.now();
  const run = async (): Promise<void> => {
    let finalAt = 0;
    while (!stopping.signal.aborted) {
      await tendAll(context, conclude, startedAt, stopping.signal).catch((error: unknown) => {
        log.warn('settlements_not_tended', { error });
      });
      if (finalAt + timing.finalEveryMs <= clock.now()) {
        await closeFinal(context).catch((error: unknown) => log.warn('journal_not_swept', { error }));
        finalAt = clock.now();
      }
      await clock.sleep(timing.tendMs, stopping.signal);
    }
  };
  const running = run();
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

async function tendAll(context: Context, conclude: Conclude, startedAt: number, signal: AbortSignal): Promise<void> {
  const { clock, journal, log, rpc, timing, address } = context;
  const own = [...journal.all()].filter(({ sender, isFinal }) => sender === address && !isFinal);
  if (own.length > 0) await reopenLost(context, own, await readTransactionCount(rpc, address, 'latest'));
  for (const entry of journal.open()) {
    if (signal.aborted) return;
    const [{ signedAt = 0 } = {}] = entry.transactions;
    // A settlement of this process still waits for its receipt itself.
    if (signedAt >= startedAt && signedAt + timing.answerMs > clock.now()) continue;
    await tend(context, conclude, entry).catch((error: unknown) => {
      log.warn('settlement_not_tended', { transaction_hash: newestOf(entry).hash, error });
    });
  }
}

/** A block that had one of ours is gone: the account has fewer transactions than it had. */
async function reopenLost({ journal, log }: Context, own: readonly Readonly<Entry>[], mined: number): Promise<void> {
  for (const entry of own) {
    const { ending, accountNonce } = entry;
    if (ending === null || ending.hash === null || accountNonce < mined) continue;
    log.warn('settlement_taken_back', { transaction_hash: ending.hash });
    await journal.reopen(entry);
  }
}

async function tend(context: Context, conclude: Conclude, entry: Readonly<Entry>): Promise<void> {
  const { rpc, log, clock, timing, address } = context;
  if (await look(context, conclude, entry)) return;
  const mined = await readTransactionCount(rpc, entry.sender, 'latest');
  if (mined > entry.accountNonce) {
    // One of them may have been mined between the two looks.
    if (!(await look(context, conclude, entry))) await conclude.lost(entry);
    return;
  }
  const block = await readBlock(rpc, 'latest');
  if (block !== null && block.timestamp >= entry.authorization.validBefore) {
    // No later block can take it: what settles nothing is cheaper than its revert, and frees the place.
    if (entry.sender === address) return fillPlace(context, entry);
    return;
  }
  const newest = newestOf(entry);
  if (entry.sender === address && newest.signedAt + timing.stuckMs <= clock.now()) {
    if (await replaceStuck(context, entry, entry.accountNonce === mined)) return;
  }
  if (await isKnown(rpc, newest.hash)) return;
  // The same bytes as before.
  const transmission = await transmit(rpc, newest.raw);
  log.warn('settlement_broadcast_again', { transaction_hash: newest.hash, transmission });
}

/** Notes whose sales are final, and forgets what no chain can settle any more. */
async function closeFinal(context: Context): Promise<void> {
  const { journal, rpc, etherUnits } = context;
  const head = await readBlock(rpc, 'finalized');
  if (head === null) return;
  for (const entry of [...journal.all()]) {
    const { ending, isFinal, authorization } = entry;
    if (isFinal || ending?.blockNumber == null || ending.blockNumber > head.number) continue;
    const pays =
      ending.state === 'succeeded' && paysForGas(authorization.value, unitsOfWei(ending.costWei, etherUnits));
    await journal.know(entry, pays ? [authorization.from, authorization.to] : []);
  }
  await journal.forget(head.timestamp);
}
