import { readReceipt } from '../platform/chain/reads.ts';
import type { Context } from './context.ts';
import type { Entry, State } from './journal/entry.ts';
import { isKnown, readTransactionCount } from './read-transaction.ts';
import { transmit } from './transmit.ts';

export interface Tending {
  stop(): Promise<void>;
}

const SWEEP_EVERY_MS = 60_000;
const EXPIRED_FOR_SECONDS = 60;

/** Looks after everything that was signed and is not mined, those of before a restart first. */
export function tendOpen(context: Context): Tending {
  const { clock, journal, log, timing } = context;
  const stopping = new AbortController();
  const startedAt = clock.now();
  const run = async (): Promise<void> => {
    let sweptAt = 0;
    while (!stopping.signal.aborted) {
      for (const entry of journal.open()) {
        if (stopping.signal.aborted) return;
        // A settlement of this process still waits for its receipt itself.
        if (entry.signedAt >= startedAt && entry.signedAt + timing.answerMs > clock.now()) continue;
        await tend(context, entry).catch((error: unknown) => {
          log.warn('settlement_not_tended', { transaction_hash: entry.hash, error });
        });
      }
      if (sweptAt + SWEEP_EVERY_MS <= clock.now()) {
        await journal.sweep().catch((error: unknown) => log.error('journal_not_swept', { error }));
        sweptAt = clock.now();
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

async function tend(context: Context, entry: Readonly<Entry>): Promise<void> {
  const { rpc, journal, log } = context;
  const state = await judge(context, entry);
  if (state !== 'open') {
    log.info('settlement_ended', { transaction_hash: entry.hash, state });
    return journal.mark(entry, state);
  }
  if (await isKnown(rpc, entry.hash)) return;
  // The same bytes as before: another transaction for this authorization would have another hash.
  const transmission = await transmit(rpc, await journal.readRaw(entry));
  log.warn('settlement_broadcast_again', { transaction_hash: entry.hash, transmission });
}

async function judge({ rpc, clock }: Context, entry: Readonly<Entry>): Promise<State> {
  const mined = await readReceipt(rpc, entry.hash);
  if (mined !== null) return mined.status === 'success' ? 'succeeded' : 'reverted';
  const passed = (await readTransactionCount(rpc, entry.sender, 'latest')) > entry.accountNonce;
  if (passed) {
    // It may have been mined between the two looks.
    const late = await readReceipt(rpc, entry.hash);
    if (late !== null) return late.status === 'success' ? 'succeeded' : 'reverted';
    return 'replaced';
  }
  const expired = Number(entry.authorization.validBefore) + EXPIRED_FOR_SECONDS < clock.now() / 1000;
  // While the node has it, its place in the order is taken; without it, the place must become free.
  return expired && !(await isKnown(rpc, entry.hash)) ? 'expired' : 'open';
}
