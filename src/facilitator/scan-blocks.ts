import { type Block, readBlock } from '../platform/chain/reads.ts';
import { RpcFailure } from '../platform/chain/rpc.ts';
import type { Hex } from '../platform/hex.ts';
import type { Conclude } from './conclude.ts';
import type { Context } from './context.ts';
import type { Head } from './head.ts';
import type { Entry, SignedTransaction } from './journal/entry.ts';
import { type Mined, readMined, readMinedIn } from './read-mined.ts';

export interface ScanBlocks {
  /** It is about to be broadcast: only blocks after the newest known one can have it. */
  expect(entry: Readonly<Entry>): void;
  /** Looks through every block that is new, for all that is in flight. */
  upTo(newest: Head): Promise<void>;
}

/** Blocks whose hashes are kept, to notice when the node has others in their places. */
const BLOCKS_KEPT = 64n;

/**
 * The hashes of each new block are compared with those of everything in flight, and only what is in it is asked for. It may find, never
 * exclude: what it misses, in a reorganisation or in a block that the node forgot, monitor-pending.ts finds.
 */
export function createScanBlocks(context: Context, conclude: Conclude): ScanBlocks {
  const { clock, head, journal, log, nonces, rpc } = context;
  const sentAfter = new WeakMap<Readonly<Entry>, bigint>();
  const seen = new Map<bigint, Hex>();
  let top = -1n;
  /** When the newest block that was looked through was found. */
  let scannedAt = 0;

  const scan = async (block: Block): Promise<void> => {
    await concludeIn(context, conclude, block);
    // Not before: whatever failed on the way is looked for again.
    seen.set(block.number, block.hash);
    seen.delete(block.number - BLOCKS_KEPT);
    if (block.number > top) top = block.number;
    scannedAt = clock.now();
  };
  /** What is in flight may be in any block after its own mark, also where its request does not wait yet. */
  const firstUnseen = (newest: Head): bigint => {
    let lowest = newest.number - 1n;
    for (const entry of journal.inFlight()) {
      const mark = sentAfter.get(entry);
      if (mark !== undefined && mark < lowest) lowest = mark;
    }
    return (top > lowest ? top : lowest) + 1n;
  };
  return {
    expect: (entry) => {
      const newest = head.newest();
      if (newest !== null) sentAfter.set(entry, newest.number);
    },
    upTo: async (newest) => {
      if (seen.get(newest.number) === newest.hash) return;
      if (isReorganised(seen, newest)) {
        log.warn('chain_reorganised', { block_number: newest.number.toString() });
        seen.clear();
        top = -1n;
        nonces.distrust();
      }
      const from = firstUnseen(newest);
      const inFlight = [...journal.inFlight()];
      const missed = Array.from({ length: Math.max(0, Number(newest.number - from)) }, (_, n) => from + BigInt(n));
      if (missed.length > inFlight.length) {
        // Dearer than to ask for each: after a pause, and where blocks come faster than looks.
        const looks = Promise.all(inFlight.map((entry) => findMined(context, conclude, entry)));
        // Among the blocks that are not looked at may be others in the places of known ones, without what stands before these.
        const order = nonces.checkedAt() < scannedAt ? nonces.recheck() : undefined;
        const [sights] = await Promise.all([looks, order]);
        if (sights.includes('unknown')) throw notThere('a receipt');
      } else {
        for (const block of await Promise.all(missed.map((number) => readBlock(rpc, number)))) {
          if (block === null) throw notThere('a block');
          await scan(block);
        }
      }
      await scan(newest);
    },
  };
}

function isReorganised(seen: ReadonlyMap<bigint, Hex>, { number, parentHash }: Head): boolean {
  const before = seen.get(number - 1n);
  return seen.has(number) || (before !== undefined && before !== parentHash);
}

async function concludeIn(context: Context, conclude: Conclude, block: Block): Promise<void> {
  const ours = new Map<Hex, { entry: Readonly<Entry>; transaction: SignedTransaction }>();
  for (const entry of context.journal.inFlight()) {
    for (const transaction of entry.transactions) ours.set(transaction.hash, { entry, transaction });
  }
  const hashes = block.transactions.filter((hash) => ours.has(hash));
  if (hashes.length === 0) return;
  const mined = await readMinedIn(context.rpc, block, hashes);
  await Promise.all(
    [...mined].map(async ([hash, cost]) => {
      const own = ours.get(hash);
      if (own !== undefined) await conclude.mined(own.entry, own.transaction, cost);
    }),
  );
  if (mined.size < hashes.length) throw notThere('a receipt');
}

/** The next look asks for it again. */
function notThere(what: string): RpcFailure {
  return new RpcFailure('malformed', `${what} is not there yet`);
}

/** unknown: the node could not be asked. */
type Sight = 'mined' | 'absent' | 'unknown';

/**
 * Whether the chain shows one of an entry's transactions now. Of a sale that a reorganisation ended in another way, by a revert or by the
 * transaction for another of its places, the end is written down anew.
 */
export async function findMined(context: Context, conclude: Conclude, entry: Readonly<Entry>): Promise<Sight> {
  const before = entry.ending;
  if (before !== null && before.state !== 'succeeded') return 'mined';
  try {
    const shown = await readShown(context, entry);
    if (shown !== null) {
      const { transaction, mined } = shown;
      const hasSameEnd = before?.hash === transaction.hash && mined.status === 'success';
      if (before !== null && !hasSameEnd && entry.ending === before) await reopen(context, entry);
      if (entry.ending === null) await conclude.mined(entry, transaction, mined);
      return 'mined';
    }
  } catch (error) {
    if (error instanceof RpcFailure) return 'unknown';
    throw error;
  }
  // Another look may have seen its end meanwhile.
  return entry.ending !== null && entry.ending.state !== 'succeeded' ? 'mined' : 'absent';
}

interface Shown {
  transaction: SignedTransaction;
  mined: Mined;
}

/** Rather the one that paid: where an entry has several places, the others revert. Null where the chain shows none of them. */
async function readShown({ rpc }: Context, { transactions }: Readonly<Entry>): Promise<Shown | null> {
  const shown: Shown[] = [];
  const read = await Promise.all(transactions.map(({ hash }) => readMined(rpc, hash)));
  for (const [at, transaction] of transactions.entries()) {
    const mined = read[at];
    if (mined != null) shown.push({ transaction, mined });
  }
  const paid = shown.find(({ transaction, mined }) => mined.status === 'success' && !transaction.fills);
  return paid ?? shown[0] ?? null;
}

/** A reorganisation took back what it ended with. */
export async function reopen({ journal, log, nonces }: Context, entry: Readonly<Entry>): Promise<void> {
  log.warn('settlement_reorganised', { transaction_hash: entry.ending?.hash });
  nonces.distrust();
  await journal.reopen(entry);
}
