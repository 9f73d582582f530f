import { type Log, type LogFilter, readLogs } from './reads.ts';
import { type Rpc, RpcFailure } from './rpc.ts';

/** Both ends are included. */
export interface BlockRange {
  fromBlock: bigint;
  toBlock: bigint;
}

export interface RangeFilter extends Pick<LogFilter, 'address' | 'topics'> {
  /** Largest number of blocks in one query. Default: 2,000, which most providers accept. */
  most?: bigint;
}

const MAX_BLOCKS = 2_000n;
/** How long a refusal counts. Afterwards we try twice as many blocks, because the plan or the load may have changed. */
const REFUSAL_CACHED_MS = 300_000;
/** A range that needs at most this many queries is not narrowed first, even if the provider accepts few blocks. */
const FEW_QUERIES = 4n;

interface Span {
  /** Largest number of blocks that we now query at once, because the provider refused more. Null: the provider has refused none so far. */
  blocks: bigint | null;
  /** Time of the last refusal, by `performance.now()`. */
  refusedAt: number;
}

/** Kept for each provider, because limits differ. */
const spans = new WeakMap<Rpc, Span>();

function spanOf(rpc: Rpc): Span {
  const span = spans.get(rpc) ?? { blocks: null, refusedAt: 0 };
  spans.set(rpc, span);
  return span;
}

export function countBlocks({ fromBlock, toBlock }: BlockRange): bigint {
  return toBlock < fromBlock ? 0n : toBlock - fromBlock + 1n;
}

/** Returns how many blocks one log query may cover: `most`, or fewer if this provider accepts fewer. */
export function logSpanOf(rpc: Rpc, most = MAX_BLOCKS): bigint {
  return minimum(spanOf(rpc).blocks ?? most, most);
}

export function fitsOneQuery(rpc: Rpc, range: BlockRange & { most?: bigint }): boolean {
  return countBlocks(range) <= logSpanOf(rpc, range.most);
}

/** Returns true if the provider accepts so few blocks that the range should be narrowed before its logs are read. */
export function isCostly(rpc: Rpc, range: BlockRange): boolean {
  const blocks = logSpanOf(rpc);
  return blocks < MAX_BLOCKS && countBlocks(range) > FEW_QUERIES * blocks;
}

export interface LogPart extends BlockRange {
  logs: Log[];
}

/**
 * Reads the logs at one end of a range, over as many blocks as the provider accepts in one query. Each confirmed refusal halves the number,
 * down to one block. Throws RpcFailure if single blocks are refused too, and for errors unrelated to the number of blocks.
 */
export async function readLogsAt(
  end: 'oldest' | 'newest',
  rpc: Rpc,
  filter: RangeFilter,
  range: BlockRange,
): Promise<LogPart> {
  const span = spanOf(rpc);
  const { address, topics, most } = filter;
  const read = (part: BlockRange): Promise<Log[]> =>
    readLogs(rpc, { address, topics, fromBlock: part.fromBlock, toBlock: part.toBlock });
  for (;;) {
    const blocks = minimum(countBlocks(range), logSpanOf(rpc, most));
    const part = cutRange(end, range, blocks);
    const logs = await readUnlessTooMany(part, read, () => logSpanOf(rpc, most));
    if (logs !== null) {
      raiseSpan(span, blocks);
      return { ...part, logs };
    }
    // If the span is below `blocks` by now, another query has lowered it already.
    if (logSpanOf(rpc, most) >= blocks) lowerSpan(span, blocks);
  }
}

/** A refused query is repeated this often. If 10 % of queries fail at random, only one in ten thousand fails four times in a row. */
const REPETITIONS = 3;

/**
 * Reads the logs of a part. Returns null if the part covers too many blocks: single blocks are answered, but the part is refused on every
 * repetition. Stops repeating if another query has meanwhile found that the part is too large.
 */
async function readUnlessTooMany(
  part: BlockRange,
  read: (part: BlockRange) => Promise<Log[]>,
  spanNow: () => bigint,
): Promise<Log[] | null> {
  for (let refusals = 1; ; refusals += 1) {
    try {
      return await read(part);
    } catch (error) {
      if (countBlocks(part) <= 1n || !isRefusal(error)) throw error;
      if (refusals === 1 && !(await takesSingleBlocks(part, read))) throw error;
      if (refusals > REPETITIONS || spanNow() < countBlocks(part)) return null;
    }
  }
}

function cutRange(end: 'oldest' | 'newest', { fromBlock, toBlock }: BlockRange, blocks: bigint): BlockRange {
  return end === 'newest'
    ? { fromBlock: toBlock - blocks + 1n, toBlock }
    : { fromBlock, toBlock: fromBlock + blocks - 1n };
}

/**
 * Returns true if the provider answers for the first and for the last block alone. Otherwise the number of blocks is not the cause: the
 * provider may lack one of the blocks, after a reorganisation or because it lags, or may refuse any such query.
 */
async function takesSingleBlocks(
  { fromBlock, toBlock }: BlockRange,
  read: (part: BlockRange) => Promise<Log[]>,
): Promise<boolean> {
  try {
    await Promise.all([fromBlock, toBlock].map((block) => read({ fromBlock: block, toBlock: block })));
    return true;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return false;
  }
}

function raiseSpan(span: Span, blocks: bigint): void {
  if (span.blocks === blocks && performance.now() - span.refusedAt >= REFUSAL_CACHED_MS) span.blocks = 2n * blocks;
}

function lowerSpan(span: Span, blocks: bigint): void {
  span.blocks = minimum(span.blocks ?? blocks, blocks / 2n);
  span.refusedAt = performance.now();
}

/** HTTP statuses with which nodes refuse a query as too large. */
const TOO_LARGE: readonly (number | null)[] = [400, 413, 414, 422];
const METHOD_NOT_FOUND = -32_601;
const RATE_LIMITED = /rate.?limit|too many requests|compute units|per second|throttl|capacity/i;

/** Returns true if fewer blocks may help. They do not help against a rate limit, because more queries would make it worse. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof RpcFailure)) return false;
  if (error.kind === 'http') return TOO_LARGE.includes(error.code);
  if (error.kind !== 'error' || error.code === METHOD_NOT_FOUND || error.code === 429) return false;
  return !RATE_LIMITED.test(error.message) || /\brange\b/i.test(error.message);
}

function minimum(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
