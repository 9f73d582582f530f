import { z } from 'zod';
import { type Hex, isHex } from '../hex.ts';
import { type Rpc, RpcFailure, type RpcOptions } from './rpc.ts';
import { type Block, type Log, type Receipt, shapes } from './shapes.ts';

export type { Block, Log, Receipt } from './shapes.ts';

export type BlockTag = 'latest' | 'safe' | 'finalized';
export type StateBlock = 'latest' | 'pending' | 'finalized' | bigint;

export async function readChainId(rpc: Rpc): Promise<bigint> {
  return parseAnswer(rpc, 'eth_chainId', shapes.quantity, await rpc.call('eth_chainId', []));
}

/** Reads a block by number, hash or tag. Returns null if the node does not know the block. */
export async function readBlock(rpc: Rpc, which: bigint | Hex | BlockTag): Promise<Block | null> {
  const byHash = isHex(which, 32);
  const method = byHash ? 'eth_getBlockByHash' : 'eth_getBlockByNumber';
  const answer = await rpc.call(method, [blockParameter(which), false]);
  if (answer === null) return null;
  const block = parseAnswer(rpc, method, shapes.block, answer);
  // A node behind a load balancer may answer with another block.
  const isRequested = byHash ? block.hash === which : typeof which !== 'bigint' || block.number === which;
  if (!isRequested) throw malformedAnswer(rpc, method, 'another block than the one asked for');
  return block;
}

/** Reads a receipt. Returns null while no block contains the transaction: it is unknown, pending, or preconfirmed without a block hash. */
export async function readReceipt(rpc: Rpc, hash: Hex): Promise<Receipt | null> {
  const method = 'eth_getTransactionReceipt';
  const answer = await rpc.call(method, [hash]);
  if (answer === null) return null;
  const { blockHash } = parseAnswer(rpc, method, z.object({ blockHash: shapes.blockHash }), answer);
  if (blockHash === null) return null;
  const receipt = parseAnswer(rpc, method, shapes.receipt, answer);
  if (receipt.transactionHash !== hash) throw malformedAnswer(rpc, method, 'another receipt than the one asked for');
  const allOwn = receipt.logs.every(
    (log) =>
      log.transactionHash === hash && log.blockHash === receipt.blockHash && log.blockNumber === receipt.blockNumber,
  );
  if (!allOwn) throw malformedAnswer(rpc, method, 'a log of another transaction or block');
  return { ...receipt, logs: inOrder(rpc, method, receipt.logs) };
}

export interface LogFilter {
  address: Hex;
  topics: (Hex | Hex[] | null)[];
  /** Start of the range, which ends at `toBlock` or at the latest block. */
  fromBlock?: bigint;
  toBlock?: bigint;
  /** Used instead of the range. */
  blockHash?: Hex;
}

/** Reads logs in chain order. Checks that each log matches the filter. */
export async function readLogs(rpc: Rpc, filter: LogFilter): Promise<Log[]> {
  const { address, topics, fromBlock, toBlock, blockHash } = filter;
  if ((blockHash === undefined) === (fromBlock === undefined))
    throw new TypeError('give a block hash or a first block');
  const blocks =
    blockHash === undefined
      ? { fromBlock: blockParameter(fromBlock ?? 0n), toBlock: blockParameter(toBlock ?? 'latest') }
      : { blockHash };
  const method = 'eth_getLogs';
  const logs = parseAnswer(rpc, method, shapes.logs, await rpc.call(method, [{ address, topics, ...blocks }]));
  if (!logs.every((log) => matchesFilter(log, filter))) throw malformedAnswer(rpc, method, 'a log outside the filter');
  return inOrder(rpc, method, logs);
}

export async function readCode(rpc: Rpc, address: Hex, block: StateBlock): Promise<Hex> {
  return parseAnswer(rpc, 'eth_getCode', shapes.data, await rpc.call('eth_getCode', [address, blockParameter(block)]));
}

export interface ContractCall {
  /** Omitted: `data` runs as the init code of a new contract. */
  to?: Hex;
  data: Hex;
  from?: Hex;
  gas?: bigint;
}

/** Runs a call. Throws `RpcFailure` of kind "error" if the call reverts or the node reports another error. */
export async function callContract(
  rpc: Rpc,
  call: ContractCall,
  block: StateBlock,
  options?: RpcOptions,
): Promise<Hex> {
  const { gas, ...rest } = call;
  const transaction = gas === undefined ? rest : { ...rest, gas: blockParameter(gas) };
  const answer = await rpc.call('eth_call', [transaction, blockParameter(block)], options);
  return parseAnswer(rpc, 'eth_call', shapes.data, answer);
}

function blockParameter(which: bigint | string): string {
  return typeof which === 'bigint' ? `0x${which.toString(16)}` : which;
}

function matchesFilter(log: Log, filter: LogFilter): boolean {
  const inBlocks =
    filter.blockHash === undefined
      ? log.blockNumber >= (filter.fromBlock ?? 0n) &&
        (filter.toBlock === undefined || log.blockNumber <= filter.toBlock)
      : log.blockHash === filter.blockHash;
  const matches = (expected: Hex | Hex[] | null, at: number): boolean => {
    const topic = log.topics[at];
    if (topic === undefined) return false;
    return expected === null || (Array.isArray(expected) ? expected.includes(topic) : expected === topic);
  };
  return inBlocks && log.address === filter.address && filter.topics.every(matches);
}

function inOrder(rpc: Rpc, method: string, logs: Log[]): Log[] {
  const positions = new Set(logs.map((log) => `${log.blockNumber} ${log.logIndex}`));
  if (positions.size !== logs.length) throw malformedAnswer(rpc, method, 'two logs in one place');
  return logs.toSorted((a, b) => Number(a.blockNumber - b.blockNumber) || a.logIndex - b.logIndex);
}

function parseAnswer<Shape extends z.ZodType>(
  rpc: Rpc,
  method: string,
  shape: Shape,
  answer: unknown,
): z.output<Shape> {
  const parsed = shape.safeParse(answer);
  if (parsed.success) return parsed.data;
  // Report only the path: the value comes from the node and may be anything.
  const path = parsed.error.issues[0]?.path.join('.');
  throw malformedAnswer(rpc, method, path ? `unexpected value at ${path}` : 'unexpected value');
}

function malformedAnswer(rpc: Rpc, method: string, what: string): RpcFailure {
  return new RpcFailure('malformed', `${method} at ${rpc.endpoint}: ${what}`);
}
