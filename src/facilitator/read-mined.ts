import { z } from 'zod';
import { type Rpc, RpcFailure } from '../platform/chain/rpc.ts';
import { shapes } from '../platform/chain/shapes.ts';
import type { Hex } from '../platform/hex.ts';

/** A transaction in a block, and what it has cost. */
export interface Mined {
  status: 'success' | 'reverted';
  blockNumber: bigint;
  gasUsed: bigint;
  costWei: bigint;
}

const METHOD = 'eth_getTransactionReceipt';
const ZERO_HASH = `0x${'0'.repeat(64)}`;

const place = z.object({ blockHash: shapes.blockHash });
const receipt = z.object({
  transactionHash: shapes.blockHash,
  blockNumber: shapes.quantity,
  status: z.enum(['0x0', '0x1']),
  gasUsed: shapes.quantity,
  effectiveGasPrice: shapes.quantity,
  /** What a chain on top of another takes for its data there. */
  l1Fee: shapes.quantity.nullish(),
});

/** Null while the transaction is in no block: unknown, pending, or preconfirmed without a block hash. */
export async function readMined(rpc: Rpc, hash: Hex): Promise<Mined | null> {
  const answer = await rpc.call(METHOD, [hash]);
  if (answer === null) return null;
  const { blockHash } = parse(rpc, place, answer);
  if (blockHash === null || blockHash === ZERO_HASH) return null;
  const read = parse(rpc, receipt, answer);
  if (read.transactionHash !== hash) throw malformed(rpc, 'another receipt than the one asked for');
  return {
    status: read.status === '0x1' ? 'success' : 'reverted',
    blockNumber: read.blockNumber,
    gasUsed: read.gasUsed,
    costWei: read.gasUsed * read.effectiveGasPrice + (read.l1Fee ?? 0n),
  };
}

function parse<Shape extends z.ZodType>(rpc: Rpc, shape: Shape, answer: unknown): z.output<Shape> {
  const read = shape.safeParse(answer);
  if (read.success) return read.data;
  throw malformed(rpc, 'a receipt out of form');
}

function malformed(rpc: Rpc, what: string): RpcFailure {
  return new RpcFailure('malformed', `${METHOD} at ${rpc.endpoint}: ${what}`);
}
