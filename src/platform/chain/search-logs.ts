import type { Hex } from '../hex.ts';
import {
  type BlockRange,
  countBlocks,
  fitsOneQuery,
  type LogPart,
  logSpanOf,
  type RangeFilter,
  readLogsAt,
} from './log-span.ts';
import { type Block, type Log, readBlock } from './reads.ts';
import { type Rpc, RpcFailure } from './rpc.ts';

export interface LogSearch extends BlockRange, RangeFilter {
  /** Ends the search as soon as it returns true. Omitted: all blocks are read. */
  isEnough?(logs: readonly Log[]): boolean;
}

/** The search needs another read to finish. Until then it proves nothing. */
export class SearchUnfinished extends RpcFailure {}

/** Limits the queries of one read. The next read continues where this one stopped. */
const MAX_QUERIES = 120;
const MAX_PARALLEL = 16;
/** This many of the newest blocks are read again each time, because a node may have a block before it has indexed its logs. */
const NEWEST_BLOCKS = 32n;

/**
 * Returns all logs of a range from one provider, in chain order, or throws. With `isEnough`, may stop early. If one query does not suffice,
 * reads the range from its newest block down. Finished parts are kept under the hash of their newest block, and are not read again while
 * that block is canonical. Throws SearchUnfinished if one read does not suffice; a later call continues. Throws RpcFailure if the provider
 * cannot answer.
 */
export async function searchLogs(rpc: Rpc, search: LogSearch): Promise<Log[]> {
  if (countBlocks(search) === 0n) return [];
  if (fitsOneQuery(rpc, search)) {
    const part = await readLogsAt('newest', rpc, search, search);
    if (part.fromBlock === search.fromBlock || search.isEnough?.(part.logs)) return part.logs;
  }
  const anchorHeight = search.toBlock - NEWEST_BLOCKS;
  const low = anchorHeight > search.fromBlock ? anchorHeight : search.fromBlock;
  const [anchor, top] = await Promise.all([mustReadBlock(rpc, low), mustReadBlock(rpc, search.toBlock)]);
  const logs = await continueSearch(rpc, search, anchor);
  if (search.isEnough?.(logs)) return logs;
  const after = await Promise.all([readBlock(rpc, low), readBlock(rpc, search.toBlock)]);
  if (after[0]?.hash === anchor.hash && after[1]?.hash === top.hash) return logs;
  progressCacheFor(rpc).delete(keyOf(search));
  throw new RpcFailure('malformed', `${rpc.endpoint} changed its chain while its logs were read`);
}

/** Logs of the blocks from `low` to `high`. Valid on the chain on which block `high` has this hash. */
interface Progress {
  low: bigint;
  high: bigint;
  hash: Hex;
  logs: Log[];
  /** Time at which the search was complete, by `performance.now()`. Null while blocks are missing. */
  endedAt: number | null;
}

/** Progress by search, oldest first. */
type Memory = Map<string, Progress>;

const memories = new WeakMap<Rpc, Memory>();
const MAX_SEARCHES = 500;
const MAX_LOGS = 5_000;
/**
 * A finished search starts over after ten minutes. Its logs may be wrong, because a reorganisation that was undone again goes unnoticed.
 */
const PROGRESS_CACHED_MS = 600_000;

function progressCacheFor(rpc: Rpc): Memory {
  const memory = memories.get(rpc) ?? new Map<string, Progress>();
  memories.set(rpc, memory);
  return memory;
}

const keyOf = ({ address, topics, fromBlock }: LogSearch): string =>
  JSON.stringify([address, topics, fromBlock.toString()]);

/** Continues an earlier search. A second search for the same logs meanwhile starts anew, because only one may extend stored progress. */
async function continueSearch(rpc: Rpc, search: LogSearch, anchor: Block): Promise<Log[]> {
  const memory = progressCacheFor(rpc);
  const name = keyOf(search);
  let progress = memory.get(name) ?? null;
  memory.delete(name);
  try {
    progress = await resumeSearch(rpc, progress, anchor);
    const logs = await readMissing(rpc, search, progress, anchor);
    // The caller knows that there are logs to find, so the provider contradicts itself. Read everything again next time.
    if (search.isEnough?.(logs) === false) progress = null;
    return logs;
  } finally {
    if (progress !== null) storeProgress(memory, name, progress);
  }
}

async function readMissing(rpc: Rpc, search: LogSearch, progress: Progress, anchor: Block): Promise<Log[]> {
  const isEnough = (logs: readonly Log[]): boolean => search.isEnough?.(logs) ?? false;
  const queries = { left: MAX_QUERIES };
  const newer: Log[] = [];
  const above = { fromBlock: progress.high + 1n, toBlock: search.toBlock };
  await readDown(rpc, search, above, {
    queries,
    take: (part) => {
      newer.unshift(...part.logs);
      return isEnough(newer);
    },
  });
  if (isEnough(newer)) return newer;
  if (anchor.number > progress.high) {
    // Count these blocks as read only now that all of them are.
    progress.logs.push(...newer.filter(({ blockNumber }) => blockNumber <= anchor.number));
    Object.assign(progress, { high: anchor.number, hash: anchor.hash });
  }
  const { high } = progress;
  const all = (): Log[] =>
    [...progress.logs, ...newer.filter(({ blockNumber }) => blockNumber > high)].filter(
      ({ blockNumber }) => blockNumber >= search.fromBlock && blockNumber <= search.toBlock,
    );
  if (!isEnough(all())) {
    const below = { fromBlock: search.fromBlock, toBlock: progress.low - 1n };
    await readDown(rpc, search, below, {
      queries,
      take: (part) => {
        progress.low = part.fromBlock;
        progress.logs.unshift(...part.logs);
        return isEnough(all());
      },
    });
  }
  if (progress.low <= search.fromBlock) progress.endedAt ??= performance.now();
  return all();
}

function storeProgress(memory: Memory, name: string, progress: Progress): void {
  if (progress.logs.length > MAX_LOGS) return;
  const [oldest] = memory.keys();
  if (memory.size >= MAX_SEARCHES && oldest !== undefined) memory.delete(oldest);
  memory.set(name, progress);
}

/** Continues from the stored progress if its newest block is still canonical. Otherwise starts below the anchor. */
async function resumeSearch(rpc: Rpc, stored: Progress | null, anchor: Block): Promise<Progress> {
  const isUsable = stored !== null && !isOutdated(rpc, stored, anchor) && (await isStillCanonical(rpc, stored, anchor));
  if (isUsable) return stored;
  return { low: anchor.number + 1n, high: anchor.number, hash: anchor.hash, logs: [], endedAt: null };
}

/** True if the progress is too old, starts above the anchor, or is so far below the anchor that one read may not reach down to it. */
function isOutdated(rpc: Rpc, { low, high, endedAt }: Progress, { number }: Block): boolean {
  const reach = (logSpanOf(rpc) * BigInt(MAX_QUERIES)) / 2n;
  return (
    number - high > reach || low > number + 1n || (endedAt !== null && performance.now() - endedAt > PROGRESS_CACHED_MS)
  );
}

async function isStillCanonical(rpc: Rpc, { high, hash }: Progress, anchor: Block): Promise<boolean> {
  const block = high === anchor.number ? anchor : await readBlock(rpc, high);
  return block?.hash === hash;
}

/** Reads a range from its newest block down until `take` returns true. */
async function readDown(
  rpc: Rpc,
  search: LogSearch,
  { fromBlock, toBlock }: BlockRange,
  { queries, take }: { queries: { left: number }; take(part: LogPart): boolean },
): Promise<void> {
  let atOnce = 1;
  let top = toBlock;
  while (top >= fromBlock) {
    if (queries.left < 1) throw searchUnfinished(rpc, countBlocks({ fromBlock, toBlock: top }));
    const span = logSpanOf(rpc, search.most);
    const parts = await readInParallel(rpc, search, { fromBlock, toBlock: top }, Math.min(atOnce, queries.left));
    queries.left -= parts.length;
    for (const part of parts) {
      top = part.fromBlock - 1n;
      if (take(part)) return;
    }
    // Query in parallel only while the provider accepts this many blocks. A new limit is found with one query at a time.
    atOnce = parts.length < atOnce || logSpanOf(rpc, search.most) !== span ? 1 : Math.min(2 * atOnce, MAX_PARALLEL);
  }
}

/**
 * Reads parts in parallel. Returns them newest first, up to the first that covers only the upper end of its range, and without those from a
 * failed one on. Throws if the newest part failed.
 */
async function readInParallel(rpc: Rpc, search: LogSearch, range: BlockRange, count: number): Promise<LogPart[]> {
  const span = logSpanOf(rpc, search.most);
  const ranges: BlockRange[] = [];
  for (let top = range.toBlock; top >= range.fromBlock && ranges.length < count; top -= span) {
    const low = top - span + 1n;
    ranges.push({ fromBlock: low > range.fromBlock ? low : range.fromBlock, toBlock: top });
  }
  const outcomes = await Promise.allSettled(ranges.map((part) => readLogsAt('newest', rpc, search, part)));
  const parts: LogPart[] = [];
  for (const [at, outcome] of outcomes.entries()) {
    if (outcome.status === 'rejected') {
      if (at === 0) throw outcome.reason;
      return parts;
    }
    parts.push(outcome.value);
    if (outcome.value.fromBlock !== ranges[at]?.fromBlock) return parts;
  }
  return parts;
}

function searchUnfinished({ endpoint }: Rpc, left: bigint): SearchUnfinished {
  const message = `${endpoint} takes few blocks in one log query: ${left} blocks are left for the next reading`;
  return new SearchUnfinished('timeout', message);
}

/** Narrows a range to blocks with `from` <= time < `before`, in seconds. Worthwhile if a log query covers only few blocks. */
export async function blocksBetween(
  rpc: Rpc,
  range: BlockRange,
  { from, before }: { from: bigint; before: bigint },
): Promise<BlockRange> {
  if (countBlocks(range) === 0n) return range;
  const ends = [range.fromBlock, range.toBlock] as const;
  const [low, high] = await Promise.all([mustReadBlock(rpc, ends[0]), mustReadBlock(rpc, ends[1])]);
  const [first, after] = await Promise.all([firstBlockAt(rpc, from, low, high), firstBlockAt(rpc, before, low, high)]);
  return { fromBlock: first, toBlock: after - 1n };
}

/** Returns the first block at that time or later, or the number after `high`. */
async function firstBlockAt(rpc: Rpc, seconds: bigint, low: Block, high: Block): Promise<bigint> {
  if (low.timestamp >= seconds) return low.number;
  if (high.timestamp < seconds) return high.number + 1n;
  let [below, at] = [low, high];
  for (let isByTime = true; at.number - below.number > 1n; isByTime = !isByTime) {
    // Blocks usually come at even intervals, so estimate by time. Every second step halves the range, which bounds the number of steps.
    const blocks = at.number - below.number;
    const share = isByTime ? ((seconds - below.timestamp) * blocks) / (at.timestamp - below.timestamp) : blocks / 2n;
    const step = share < 1n ? 1n : share < blocks ? share : blocks - 1n;
    const block = await mustReadBlock(rpc, below.number + step);
    if (block.timestamp < seconds) below = block;
    else at = block;
  }
  return at.number;
}

async function mustReadBlock(rpc: Rpc, number: bigint): Promise<Block> {
  const block = await readBlock(rpc, number);
  if (block === null) throw new RpcFailure('malformed', `${rpc.endpoint} does not have block ${number}`);
  return block;
}
