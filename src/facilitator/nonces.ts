import type { Rpc } from '../platform/chain/rpc.ts';
import type { Clock } from '../platform/clock.ts';
import type { Hex } from '../platform/hex.ts';
import type { Log } from '../platform/log.ts';
import type { ReachCrashPoint } from './crash-points.ts';
import { type Entry, minedSlotOf, type SignedTransaction, slotsOf } from './journal/entry.ts';
import type { Journal } from './journal/open-journal.ts';
import { readTransactionCount, sendRaw } from './outcomes.ts';

/**
 * Hands out the account's nonces from memory. It reads the count from the chain at start, after trouble, and after nothing was in flight
 * for a while: the key may have been used elsewhere, and a reorganisation may have taken blocks back.
 */
export interface Nonces {
  ready(): Promise<void>;
  /** Returns the next nonce that no authorization holds, whatever the node counts; null if the chain has to be read first. */
  take(): number | null;
  /** The taken nonce is in the journal. */
  written(nonce: number): void;
  /** The taken nonce was not signed: it is handed out again. */
  giveBack(nonce: number): void;
  /** Reads the chain (single flight) and broadcasts again what the node lacks. Nonces are handed out meanwhile. */
  recheck(): Promise<void>;
  /** When the chain was read last, in the clock's milliseconds. */
  checkedAt(): number;
  /** Something went wrong: read the chain before the next nonce. */
  distrust(): void;
  /** The chain accepted a transaction. */
  confirm(): void;
}

/** If nothing is in flight, the count in memory is trusted for this long after the last answer of the chain. */
const QUIET_MS = 2_000;

interface NoncesContext {
  rpc: Rpc;
  address: Hex;
  journal: Journal;
  log: Log;
  clock: Clock;
  crashPoint: ReachCrashPoint;
}

export function createNonces(context: NoncesContext): Nonces {
  const { rpc, address, journal, clock, crashPoint } = context;
  /** Null: read the chain first. */
  let next: number | null = null;
  let answeredAt = 0;
  let checkedAt = 0;
  let distrusts = 0;
  let checking: Promise<void> | null = null;
  /** Handed out, and not in the journal yet. */
  const taken = new Set<number>();
  /** Nonces in use at the last check. */
  let used = new Set<number>();

  const check = async (): Promise<void> => {
    const [askedAt, before] = [clock.now(), distrusts];
    crashPoint('before_order_asked');
    const counted = await readTransactionCount(rpc, address, 'pending');
    crashPoint('after_order_asked');
    await bringBack(context, counted, askedAt);
    used = new Set(taken);
    for (const { sender, transactions, ending } of journal.all()) {
      const isLost = ending !== null && ending.hash === null;
      if (sender === address && !isLost) for (const { accountNonce } of transactions) used.add(accountNonce);
    }
    answeredAt = clock.now();
    checkedAt = askedAt;
    // Trouble in between may be newer than the answer.
    if (distrusts === before) next = counted;
  };
  const recheck = (): Promise<void> => {
    checking ??= check().finally(() => {
      checking = null;
    });
    return checking;
  };
  const isQuiet = (): boolean =>
    taken.size === 0 && journal.inFlight().size === 0 && answeredAt + QUIET_MS <= clock.now();
  return {
    ready: async () => {
      if (next !== null && isQuiet()) next = null;
      while (next === null) await recheck();
    },
    recheck,
    checkedAt: () => checkedAt,
    take: () => {
      if (next === null) return null;
      while (used.has(next)) next += 1;
      const nonce = next;
      taken.add(nonce);
      next += 1;
      return nonce;
    },
    written: (nonce) => void taken.delete(nonce),
    giveBack: (nonce) => {
      taken.delete(nonce);
      next = null;
      distrusts += 1;
    },
    distrust: () => {
      next = null;
      distrusts += 1;
    },
    confirm: () => {
      answeredAt = clock.now();
    },
  };
}

/**
 * Handles a node that counts fewer transactions than the journal holds: it lags, has dropped unmined ones, or a reorganisation took some
 * back. They are broadcast again, because nothing behind them can be mined before. An authorization may have been paid in an earlier slot
 * than its last.
 */
async function bringBack(
  { rpc, address, journal, log }: NoncesContext,
  counted: number,
  askedAt: number,
): Promise<void> {
  const uncounted: SignedTransaction[] = [];
  const lost: Readonly<Entry>[] = [];
  for (const entry of journal.all()) {
    const { sender, ending, isFinal } = entry;
    if (sender !== address || entry.accountNonce < counted) continue;
    // The count was read before this transaction was mined, so its absence means nothing.
    if (ending !== null && (ending.hash === null || ending.at >= askedAt)) continue;
    const minedSlot = minedSlotOf(entry);
    if (minedSlot !== null && minedSlot >= counted) {
      if (isFinal) continue;
      lost.push(entry);
    }
    uncounted.push(...slotsOf(entry).filter(({ accountNonce }) => accountNonce >= counted));
  }
  uncounted.sort((a, b) => a.accountNonce - b.accountNonce);
  await Promise.all(lost.map((entry) => journal.reopen(entry)));
  // Send all at once and in order: nodes keep few transactions behind a gap.
  await Promise.all(
    uncounted.map(async ({ hash, raw }) => {
      log.warn('settlement_resubmitted', { transaction_hash: hash, transmission: await sendRaw(rpc, raw) });
    }),
  );
}
