import type { Block } from '../platform/chain/reads.ts';
import { type Rpc, RpcFailure } from '../platform/chain/rpc.ts';
import { shapes } from '../platform/chain/shapes.ts';
import type { Clock } from '../platform/clock.ts';

export interface Head extends Block {
  baseFeePerGas: bigint;
}

/** The node's newest block, shared by everything that needs it at the same moment: fees, receipts, expired authorizations. */
export interface ChainHead {
  /** Returns the last block read, however old. */
  newest(): Head | null;
  /** Returns a block read at most `ms` ago. Reads it again if needed. */
  within(ms: number): Promise<Head>;
  refresh(): Promise<Head>;
}

const METHOD = 'eth_getBlockByNumber';
const shape = shapes.block.extend({ baseFeePerGas: shapes.quantity });

export function createHead(rpc: Rpc, clock: Clock): ChainHead {
  let last: { head: Head; readAt: number } | null = null;
  let reading: Promise<Head> | null = null;
  const readLatest = async (): Promise<Head> => {
    const readAt = clock.now();
    const answer = await rpc.call(METHOD, ['latest', false]);
    // Several polls may see the same block, so do not parse it again.
    if (last !== null && hashOf(answer) === last.head.hash) {
      last = { ...last, readAt };
      return last.head;
    }
    const read = shape.safeParse(answer);
    if (!read.success) throw new RpcFailure('malformed', `${METHOD} at ${rpc.endpoint}: a latest block out of form`);
    last = { head: read.data, readAt };
    return read.data;
  };
  const refresh = (): Promise<Head> => {
    reading ??= readLatest().finally(() => {
      reading = null;
    });
    return reading;
  };
  return {
    newest: () => last?.head ?? null,
    within: async (ms) => (last !== null && last.readAt + ms > clock.now() ? last.head : refresh()),
    refresh,
  };
}

function hashOf(block: unknown): unknown {
  return typeof block === 'object' && block !== null && 'hash' in block ? block.hash : null;
}
