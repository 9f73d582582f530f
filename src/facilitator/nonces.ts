import type { Rpc } from '../platform/chain/rpc.ts';
import type { Clock } from '../platform/clock.ts';
import type { Hex } from '../platform/hex.ts';
import type { Log } from '../platform/log.ts';
import type { ReachCrashPoint } from './crash-points.ts';
import { type Entry, minedPlaceOf, placesOf, type SignedTransaction } from './journal/entry.ts';
import type { Journal } from './journal/open-journal.ts';
import { readTransactionCount, transmit } from './outcomes.ts';

/**
 * The account's order of transactions, given out in memory. The chain is asked where to go on at a start, after trouble, and where
 * nothing has been in flight for a while: the key may have been used elsewhere, and a reorganisation may have taken blocks back.
 */
export interface Nonces {
  /** Resolves when the next one is known. */
  ready(): Promise<void>;
  /** The next free one; null where that has to be asked for first. A place that an authorization has is left to it, whatever the node counts. */
  take(): number | null;
  /** What was taken is in the journal. */
  written(nonce: number): void;
  /** What was taken was not signed: the next one takes it. */
  giveBack(nonce: number): void;
  /** Asks the chain, or waits for who does: what the node does not have is offered again. Meanwhile places are given out as before. */
  recheck(): Promise<void>;
  /** When it was asked last, in the clock's milliseconds. */
  checkedAt(): number;
  /** Something was not as it should be: the next one asks the chain. */
  distrust(): void;
  /** The chain took what was given out. */
  confirm(): void;
}

/** So long after the chain's last word the count is taken as it is, though nothing is in flight. */
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
  /** Null: the chain has to be asked. */
  let next: number | null = null;
  let wordAt = 0;
  let checkedAt = 0;
  let distrusts = 0;
  let checking: Promise<void> | null = null;
  /** Given out, and not in the journal yet. */
  const taken = new Set<number>();
  /** What had a place at the last check. */
  let held = new Set<number>();

  const check = async (): Promise<void> => {
    const [askedAt, before] = [clock.now(), distrusts];
    crashPoint('before_order_asked');
    const counted = await readTransactionCount(rpc, address, 'pending');
    crashPoint('after_order_asked');
    await bringBack(context, counted, askedAt);
    held = new Set(taken);
    for (const { sender, transactions, ending } of journal.all()) {
      const isLost = ending !== null && ending.hash === null;
      if (sender === address && !isLost) for (const { accountNonce } of transactions) held.add(accountNonce);
    }
    wordAt = clock.now();
    checkedAt = askedAt;
    // What went wrong meanwhile may be newer than the answer.
    if (distrusts === before) next = counted;
  };
  const recheck = (): Promise<void> => {
    checking ??= check().finally(() => {
      checking = null;
    });
    return checking;
  };
  const isQuiet = (): boolean => taken.size === 0 && journal.inFlight().size === 0 && wordAt + QUIET_MS <= clock.now();
  return {
    ready: async () => {
      if (next !== null && isQuiet()) next = null;
      while (next === null) await recheck();
    },
    recheck,
    checkedAt: () => checkedAt,
    take: () => {
      if (next === null) return null;
      while (held.has(next)) next += 1;
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
      wordAt = clock.now();
    },
  };
}

/**
 * Where the node counts less than has its place here, it lags, has dropped what waited, or a reorganisation took back what was mined. It is
 * offered again: until then nothing behind it can be mined. An authorization may have been paid at an earlier place than its last.
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
    // What was mined after the question is not missing from the answer.
    if (ending !== null && (ending.hash === null || ending.at >= askedAt)) continue;
    const minedPlace = minedPlaceOf(entry);
    if (minedPlace !== null && minedPlace >= counted) {
      if (isFinal) continue;
      lost.push(entry);
    }
    uncounted.push(...placesOf(entry).filter(({ accountNonce }) => accountNonce >= counted));
  }
  uncounted.sort((a, b) => a.accountNonce - b.accountNonce);
  await Promise.all(lost.map((entry) => journal.reopen(entry)));
  // In one moment and in their order: nodes keep few transactions that stand behind a gap.
  await Promise.all(
    uncounted.map(async ({ hash, raw }) => {
      log.warn('settlement_resubmitted', { transaction_hash: hash, transmission: await transmit(rpc, raw) });
    }),
  );
}
