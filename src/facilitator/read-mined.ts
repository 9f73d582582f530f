import { z } from 'zod';
import type { Block } from '../platform/chain/reads.ts';
import { type Rpc, RpcFailure } from '../platform/chain/rpc.ts';
import { shapes } from '../platform/chain/shapes.ts';
import type { Hex } from '../platform/hex.ts';
import { readTransactionCount } from './outcomes.ts';

export interface Mined {
  status: 'success' | 'reverted';
  blockNumber: bigint;
  gasUsed: bigint;
  costWei: bigint;
}

const ONE = 'eth_getTransactionReceipt';
const WHOLE_BLOCK = 'eth_getBlockReceipts';
/** Read all receipts of a block only if at least this many are ours. That saves calls, but may return many more bytes. */
const MIN_FOR_WHOLE_BLOCK = 4;
const MAX_FOREIGN_TIMES = 12;

const placement = z.object({ blockHash: shapes.blockHash });
const receipt = z.object({
  transactionHash: shapes.blockHash,
  blockNumber: shapes.quantity,
  status: z.enum(['0x0', '0x1']),
  gasUsed: shapes.quantity,
  effectiveGasPrice: shapes.quantity,
  /** Fee of a rollup for storing its data on the base chain. */
  l1Fee: shapes.quantity.nullish(),
});

/** Null while no block contains the transaction: it is unknown, pending, or preconfirmed without a block hash. */
export async function readMined(rpc: Rpc, hash: Hex): Promise<Mined | null> {
  const answer = await rpc.call(ONE, [hash]);
  if (answer === null) return null;
  const { blockHash } = parseReceipt(rpc, placement, answer);
  if (blockHash === null) return null;
  return asMined(rpc, hash, answer);
}

/** Reads receipts of transactions in this block. Leaves out receipts that the node does not have yet. */
export async function readMinedIn(rpc: Rpc, block: Block, hashes: readonly Hex[]): Promise<Map<Hex, Mined>> {
  const isWorthWholeBlock =
    hashes.length >= MIN_FOR_WHOLE_BLOCK && hashes.length * MAX_FOREIGN_TIMES >= block.transactions.length;
  const receipts = isWorthWholeBlock ? await readWholeBlock(rpc, block, hashes) : new Map<Hex, Mined>();
  const missing = hashes.filter((hash) => !receipts.has(hash));
  const read = await Promise.all(missing.map((hash) => readMined(rpc, hash)));
  for (const [at, hash] of missing.entries()) {
    const mined = read[at];
    if (mined != null) receipts.set(hash, mined);
  }
  return receipts;
}

/** Empty if the node does not offer this call or the call fails. */
async function readWholeBlock(rpc: Rpc, block: Block, hashes: readonly Hex[]): Promise<Map<Hex, Mined>> {
  const answer = await rpc.call(WHOLE_BLOCK, [`0x${block.number.toString(16)}`]).catch((error: unknown) => {
    if (error instanceof RpcFailure) return null;
    throw error;
  });
  const ours = new Set<string>(hashes);
  const receipts = new Map<Hex, Mined>();
  for (const one of Array.isArray(answer) ? answer : []) {
    const { transactionHash, blockHash } = (one ?? {}) as { transactionHash?: unknown; blockHash?: unknown };
    // The number may belong to another block by now.
    if (typeof transactionHash !== 'string' || blockHash !== block.hash) continue;
    const hash = transactionHash.toLowerCase() as Hex;
    if (ours.has(hash)) receipts.set(hash, asMined(rpc, hash, one));
  }
  return receipts;
}

const minedTransaction = z.object({
  hash: shapes.blockHash,
  from: z.string().transform((text) => text.toLowerCase()),
  nonce: shapes.quantity,
});
const fullBlock = z.object({ transactions: z.array(minedTransaction) });
/** The search gives up once its step exceeds this, because many nodes keep no older state. */
const MAX_BLOCKS_BACK = 1_024n;

/**
 * Finds the account's transaction that was mined with this nonce, up to this block. Null if there is none, or it is too far back. Throws if
 * the node lacks the state of a block that the search needs.
 */
export async function findByNonce(
  rpc: Rpc,
  { sender, accountNonce }: { sender: Hex; accountNonce: number },
  upTo: bigint,
): Promise<Hex | null> {
  const isMinedAt = async (block: bigint): Promise<boolean> =>
    (await readTransactionCount(rpc, sender, block)) > accountNonce;
  if (!(await isMinedAt(upTo))) return null;
  let [above, below, distance] = [upTo, upTo - 1n, 1n];
  while (below >= 0n && (await isMinedAt(below))) {
    if (distance > MAX_BLOCKS_BACK) return null;
    distance *= 2n;
    [above, below] = [below, below - distance];
  }
  if (below < -1n) below = -1n;
  while (above - below > 1n) {
    const middle = (above + below) / 2n;
    if (await isMinedAt(middle)) above = middle;
    else below = middle;
  }
  const answer = await rpc.call('eth_getBlockByNumber', [`0x${above.toString(16)}`, true]);
  const block = fullBlock.safeParse(answer);
  if (!block.success) throw malformedAnswer(rpc, 'a block out of form');
  const own = block.data.transactions.find(({ from, nonce }) => from === sender && nonce === BigInt(accountNonce));
  return own?.hash ?? null;
}

function asMined(rpc: Rpc, hash: Hex, answer: unknown): Mined {
  const read = parseReceipt(rpc, receipt, answer);
  if (read.transactionHash !== hash) throw malformedAnswer(rpc, 'another receipt than the one asked for');
  return {
    status: read.status === '0x1' ? 'success' : 'reverted',
    blockNumber: read.blockNumber,
    gasUsed: read.gasUsed,
    costWei: read.gasUsed * read.effectiveGasPrice + (read.l1Fee ?? 0n),
  };
}

function parseReceipt<Shape extends z.ZodType>(rpc: Rpc, shape: Shape, answer: unknown): z.output<Shape> {
  const read = shape.safeParse(answer);
  if (read.success) return read.data;
  throw malformedAnswer(rpc, 'a receipt out of form');
}

function malformedAnswer(rpc: Rpc, what: string): RpcFailure {
  return new RpcFailure('malformed', `the node at ${rpc.endpoint}: ${what}`);
}
