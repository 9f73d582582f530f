import type { Rpc } from '../platform/chain/rpc.ts';
import type { Clock } from '../platform/clock.ts';
import type { Hex } from '../platform/hex.ts';
import type { Log } from '../platform/log.ts';
import type { ReachCrashPoint } from './crash-points.ts';
import { type Entry, minedNonceOf, newestPerNonce, type SignedTransaction } from './journal/entry.ts';
import type { Journal } from './journal/open-journal.ts';
import { readTransactionCount, sendRawTransaction } from './outcomes.ts';

/**
 * Assigns the account's nonces from memory. Reads the transaction count from the chain at the start, after trouble, and when nothing was in
 * flight for a while: the key may have been used elsewhere, or a reorganisation may have removed blocks.
 */
export interface Nonces {
  ready(): Promise<void>;
  /**
   * Returns the next account nonce that the journal has not assigned to an authorization, even if the node reports a lower count. Null if
   * the chain must be read first.
   */
  take(): number | null;
  /** Call when the assigned nonce is in the journal. */
  written(nonce: number): void;
  /** Call when no transaction with the nonce was written to the journal, so that it is assigned again. */
  giveBack(nonce: number): void;
  /** Reads the chain and broadcasts again what the node lacks. Concurrent calls share one read. Nonces can still be assigned meanwhile. */
  recheck(): Promise<void>;
  /** When the chain was last read, in milliseconds of the clock. */
  checkedAt(): number;
  /** Call after trouble. The next nonce is then assigned only once the chain has been read again. */
  distrust(): void;
  /** Call when one of the account's transactions was mined. Restarts the time for which the count in memory is trusted. */
  confirm(): void;
}

/** If nothing is in flight, the count in memory is trusted for this long after the chain's last answer. */
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
  /** Null: the chain must be read first. */
  let next: number | null = null;
  let answeredAt = 0;
  let checkedAt = 0;
  let distrustCount = 0;
  let checking: Promise<void> | null = null;
  /** Nonces that were assigned but are not in the journal yet. */
  const taken = new Set<number>();
  /** Nonces that were assigned or in the journal at the last check. */
  let used = new Set<number>();

  const check = async (): Promise<void> => {
    const [askedAt, before] = [clock.now(), distrustCount];
    crashPoint('before_order_asked');
    const counted = await readTransactionCount(rpc, address, 'pending');
    crashPoint('after_order_asked');
    await rebroadcastUncounted(context, counted, askedAt);
    used = new Set(taken);
    for (const { sender, transactions, ending } of journal.all()) {
      const isLost = ending !== null && ending.hash === null;
      if (sender === address && !isLost) for (const { accountNonce } of transactions) used.add(accountNonce);
    }
    answeredAt = clock.now();
    checkedAt = askedAt;
    // If `distrust` or `giveBack` was called meanwhile, the count may be out of date, so read it again.
    if (distrustCount === before) next = counted;
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
      distrustCount += 1;
    },
    distrust: () => {
      next = null;
      distrustCount += 1;
    },
    confirm: () => {
      answeredAt = clock.now();
    },
  };
}

/**
 * Handles a node that counts fewer transactions than the journal has, because the node lags, it dropped some before they were mined, or a
 * reorganisation removed some. Broadcasts the uncounted ones again, because no transaction with a higher nonce can be mined before them. An
 * entry that was paid with an earlier, counted nonce stays ended, but its transactions with uncounted nonces are broadcast again too.
 */
async function rebroadcastUncounted(
  { rpc, address, journal, log }: NoncesContext,
  counted: number,
  askedAt: number,
): Promise<void> {
  const uncounted: SignedTransaction[] = [];
  const lost: Readonly<Entry>[] = [];
  for (const entry of journal.all()) {
    const { sender, ending, isFinal } = entry;
    if (sender !== address || entry.accountNonce < counted) continue;
    // No transaction was mined for this entry, or the count may have been read before its transaction was mined.
    if (ending !== null && (ending.hash === null || ending.at >= askedAt)) continue;
    const minedNonce = minedNonceOf(entry);
    if (minedNonce !== null && minedNonce >= counted) {
      if (isFinal) continue;
      lost.push(entry);
    }
    uncounted.push(...newestPerNonce(entry).filter(({ accountNonce }) => accountNonce >= counted));
  }
  uncounted.sort((a, b) => a.accountNonce - b.accountNonce);
  await Promise.all(lost.map((entry) => journal.reopen(entry)));
  // Send all at once and in order, because nodes keep few transactions behind a gap.
  await Promise.all(
    uncounted.map(async ({ hash, raw }) => {
      log.warn('settlement_resubmitted', { transaction_hash: hash, transmission: await sendRawTransaction(rpc, raw) });
    }),
  );
}
