import { type Block, readBlock } from '../platform/chain/reads.ts';
import { RpcFailure } from '../platform/chain/rpc.ts';
import type { Hex } from '../platform/hex.ts';
import type { Conclude } from './conclude.ts';
import type { Context } from './context.ts';
import type { Head } from './head.ts';
import type { Entry, SignedTransaction } from './journal/entry.ts';
import { type Mined, readMined, readMinedIn } from './read-mined.ts';

export interface ScanBlocks {
  /** Call before the broadcast: only blocks after the newest known one can contain the transaction. */
  expect(entry: Readonly<Entry>): void;
  upTo(newest: Head): Promise<void>;
}

/** Number of block hashes kept to detect reorganisations. */
const BLOCKS_KEPT = 64n;

/**
 * Compares the transaction hashes of each new block with those in flight, and reads only matching receipts. The scan may find a transaction
 * but never rules one out: monitor-pending.ts finds what the scan misses in a reorganisation or in a block that the node forgot.
 */
export function createScanBlocks(context: Context, conclude: Conclude): ScanBlocks {
  const { clock, head, journal, log, nonces, rpc } = context;
  const sentAfter = new WeakMap<Readonly<Entry>, bigint>();
  const scannedHashes = new Map<bigint, Hex>();
  let highestScanned = -1n;
  /** When the newest scanned block was found. */
  let scannedAt = 0;

  const scan = async (block: Block): Promise<void> => {
    await concludeIn(context, conclude, block);
    // Mark the block only now, so that it is scanned again if anything failed.
    scannedHashes.set(block.number, block.hash);
    scannedHashes.delete(block.number - BLOCKS_KEPT);
    if (block.number > highestScanned) highestScanned = block.number;
    scannedAt = clock.now();
  };
  /** Returns the first block to scan. An entry in flight may be in any block after `sentAfter`, even if no request waits for it yet. */
  const firstUnseen = (newest: Head): bigint => {
    let lowest = newest.number - 1n;
    for (const entry of journal.inFlight()) {
      const mark = sentAfter.get(entry);
      if (mark !== undefined && mark < lowest) lowest = mark;
    }
    return (highestScanned > lowest ? highestScanned : lowest) + 1n;
  };
  return {
    expect: (entry) => {
      const newest = head.newest();
      if (newest !== null) sentAfter.set(entry, newest.number);
    },
    upTo: async (newest) => {
      if (scannedHashes.get(newest.number) === newest.hash) return;
      if (isReorganised(scannedHashes, newest)) {
        log.warn('chain_reorganised', { block_number: newest.number.toString() });
        scannedHashes.clear();
        highestScanned = -1n;
        nonces.distrust();
      }
      const from = firstUnseen(newest);
      const inFlight = [...journal.inFlight()];
      const missed = Array.from({ length: Math.max(0, Number(newest.number - from)) }, (_, n) => from + BigInt(n));
      if (missed.length > inFlight.length) {
        // After a pause, or if blocks come faster than polls, reading all blocks would cost more than reading each transaction.
        const sightings = Promise.all(inFlight.map((entry) => findMined(context, conclude, entry)));
        // A skipped block may have replaced a known one and dropped earlier transactions of the account.
        const nonceCheck = nonces.checkedAt() < scannedAt ? nonces.recheck() : undefined;
        const [sights] = await Promise.all([sightings, nonceCheck]);
        if (sights.includes('unknown')) throw notYetAvailable('a receipt');
      } else {
        for (const block of await Promise.all(missed.map((number) => readBlock(rpc, number)))) {
          if (block === null) throw notYetAvailable('a block');
          await scan(block);
        }
      }
      await scan(newest);
    },
  };
}

function isReorganised(scannedHashes: ReadonlyMap<bigint, Hex>, { number, parentHash }: Head): boolean {
  const before = scannedHashes.get(number - 1n);
  return scannedHashes.has(number) || (before !== undefined && before !== parentHash);
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
      if (own !== undefined) await conclude.recordMined(own.entry, own.transaction, cost);
    }),
  );
  if (mined.size < hashes.length) throw notYetAvailable('a receipt');
}

/** Creates the error for data that the node does not have yet. The next poll reads the data again. */
function notYetAvailable(what: string): RpcFailure {
  return new RpcFailure('malformed', `${what} is not there yet`);
}

/** unknown: the node could not be read. */
type MinedState = 'mined' | 'absent' | 'unknown';

/**
 * Checks whether the chain has one of the entry's transactions now. If a reorganisation changed how a sale ended, because it now reverts or
 * a transaction with another nonce was mined, records the new ending. Returns `mined` without a check if the entry reverted or was
 * replaced.
 */
export async function findMined(context: Context, conclude: Conclude, entry: Readonly<Entry>): Promise<MinedState> {
  const before = entry.ending;
  if (before !== null && before.state !== 'succeeded') return 'mined';
  try {
    const found = await findTransaction(context, entry);
    if (found !== null) {
      const { transaction, mined } = found;
      const hasSameEnd = before?.hash === transaction.hash && mined.status === 'success';
      if (before !== null && !hasSameEnd && entry.ending === before) await reopenEntry(context, entry);
      if (entry.ending === null) await conclude.recordMined(entry, transaction, mined);
      return 'mined';
    }
  } catch (error) {
    if (error instanceof RpcFailure) return 'unknown';
    throw error;
  }
  // Another check may have recorded the ending meanwhile.
  return entry.ending !== null && entry.ending.state !== 'succeeded' ? 'mined' : 'absent';
}

interface FoundTransaction {
  transaction: SignedTransaction;
  mined: Mined;
}

/** Finds a mined transaction of the entry, preferably the one that paid, because those with other nonces revert. Null if there is none. */
async function findTransaction({ rpc }: Context, { transactions }: Readonly<Entry>): Promise<FoundTransaction | null> {
  const found: FoundTransaction[] = [];
  const read = await Promise.all(transactions.map(({ hash }) => readMined(rpc, hash)));
  for (const [at, transaction] of transactions.entries()) {
    const mined = read[at];
    if (mined != null) found.push({ transaction, mined });
  }
  const paid = found.find(({ transaction, mined }) => mined.status === 'success' && !transaction.fills);
  return paid ?? found[0] ?? null;
}

/** Reopens an entry whose ending a reorganisation undid. */
export async function reopenEntry({ journal, log, nonces }: Context, entry: Readonly<Entry>): Promise<void> {
  log.warn('settlement_reorganised', { transaction_hash: entry.ending?.hash });
  nonces.distrust();
  await journal.reopen(entry);
}
