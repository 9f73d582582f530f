import { type Asking, createAsking, NodeRefused } from './ask-node.ts';

/** Reads the chain through plain JSON-RPC. Shares no code with the market, so that both agree only if both are right. */

export const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
export const AUTHORIZATION_USED = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5';

export interface ChainLog {
  address: string;
  topics: string[];
  data: string;
  transactionHash: string;
  blockHash: string;
  blockNumber: string;
  logIndex: string;
}

export interface ChainReceipt {
  status: string;
  blockHash: string;
  blockNumber: string;
  logs: ChainLog[];
}

export interface ChainBlock {
  hash: string;
  number: string;
  timestamp: string;
}

export interface Chain {
  id: bigint;
  /** Address of USDC on this chain, in lower case. */
  token: string;
  /** Finalized head at the last refresh. */
  final: { number: number; hash: string };
  refresh(): Promise<void>;
  receipt(hash: string): Promise<ChainReceipt | null>;
  /** Reads a block of the canonical chain by number. */
  block(number: number): Promise<ChainBlock | null>;
  /** Returns whether the authorization was used or canceled, as of the finalized head. */
  isSpent(payer: string, nonce: string): Promise<boolean>;
  /** Yields the token's logs between two blocks, both included, in ranges that the provider accepts. */
  logs(topics: Topics, from: number, to: number): AsyncGenerator<ChainLog, void, undefined>;
  /** Drops cached data, so that memory stays bounded for any number of payments. */
  forget(): void;
}

/** Log filter. Null matches anything, and a list matches any of its members. */
type Topics = readonly (string | null | readonly string[])[];

/** Selector of `authorizationState(address,bytes32)`. */
const AUTHORIZATION_STATE = '0xe94a0102';

/** Address of native USDC by chain. The market's own answer is not trusted for this. */
const USDC: Readonly<Record<string, string>> = {
  8453: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  84532: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
};

export async function openChain(url: string, named?: string): Promise<Chain> {
  const ask = createAsking(url);
  const id = BigInt(await ask<string>('eth_chainId', []));
  const token = (named ?? USDC[id.toString()])?.toLowerCase();
  if (token === undefined) throw new NodeRefused(`chain ${id} has no USDC that is known here; name it with --token`);
  const kept = new Map<string, Promise<unknown>>();
  const once = <T>(key: string, read: () => Promise<T>): Promise<T> => {
    const reading = (kept.get(key) as Promise<T> | undefined) ?? read();
    kept.set(key, reading);
    return reading;
  };
  const readHead = async (): Promise<Chain['final']> => {
    const head = await ask<ChainBlock | null>('eth_getBlockByNumber', ['finalized', false]);
    if (head === null) throw new NodeRefused('the endpoint knows no finalized block');
    return { number: Number(head.number), hash: head.hash };
  };
  const readBlock = async (at: number): Promise<ChainBlock | null> => {
    const found = await ask<ChainBlock | null>('eth_getBlockByNumber', [hexOf(at), false]);
    return found && { hash: found.hash, number: found.number, timestamp: found.timestamp };
  };
  const chain: Chain = {
    id,
    token,
    final: await readHead(),
    refresh: async () => {
      chain.final = await readHead();
    },
    receipt: (hash) => once(hash, () => ask('eth_getTransactionReceipt', [hash])),
    block: (at) => once(`block ${at}`, () => readBlock(at)),
    isSpent: async (payer, nonce) => {
      const data = `${AUTHORIZATION_STATE}${topicOf(payer).slice(2)}${nonce.slice(2)}`;
      return BigInt(await ask<string>('eth_call', [{ to: token, data }, hexOf(chain.final.number)])) === 1n;
    },
    logs: createLogReader(ask, token),
    forget: () => kept.clear(),
  };
  return chain;
}

const hexOf = (number: number): string => `0x${number.toString(16)}`;

export const topicOf = (wallet: string): string => `0x${wallet.slice(2).toLowerCase().padStart(64, '0')}`;

/** Returns the wallet in the last twenty bytes of a topic. */
export const walletOf = (topic: string | undefined): string => `0x${(topic ?? '').slice(-40).toLowerCase()}`;

export interface Moved {
  from: string;
  to: string;
  units: bigint;
  logIndex: number;
}

export function movedBy(log: ChainLog): Moved {
  const [, from, to] = log.topics;
  return { from: walletOf(from), to: walletOf(to), units: BigInt(log.data), logIndex: Number(log.logIndex) };
}

export function movesOf(receipt: ChainReceipt, token: string): Moved[] {
  return receipt.logs
    .filter((log) => log.address.toLowerCase() === token && log.topics[0] === TRANSFER && log.topics.length === 3)
    .map(movedBy);
}

/** Returns payer and nonce of every used authorization, joined into one text each. */
export function authorizationsIn(logs: readonly ChainLog[], token: string): string[] {
  return logs
    .filter(({ address, topics }) => address.toLowerCase() === token && topics[0] === AUTHORIZATION_USED)
    .map(({ topics }) => `${walletOf(topics[1])} ${topics[2]}`);
}

/** Returns the transfer that an authorization made, which the token emits directly after the use. Later logs belong to other calls. */
export function madeBy(
  receipt: ChainReceipt,
  token: string,
  by: { payer: string; nonce: string | null },
): Moved | null {
  const key = `${by.payer} ${by.nonce}`;
  const use = receipt.logs.find((log) => authorizationsIn([log], token).includes(key));
  if (use === undefined) return null;
  const next = Number(use.logIndex) + 1;
  return movesOf(receipt, token).find(({ logIndex, from }) => logIndex === next && from === by.payer) ?? null;
}

/** Blocks per request at the start. Halved until the provider accepts the range, and raised up to a maximum. */
const FIRST_BLOCKS = 2_000;
const MAX_BLOCKS = 50_000;
/** Number of logs in an answer at which the range stops growing. */
const MANY_LOGS = 1_000;

/** Reads logs in ranges that grow and shrink with what the provider accepts. The size is kept between calls. */
function createLogReader(ask: Asking, token: string): Chain['logs'] {
  let blocks = FIRST_BLOCKS;
  const read = (topics: Topics, from: number, to: number): Promise<ChainLog[]> =>
    ask('eth_getLogs', [{ address: token, topics, fromBlock: hexOf(from), toBlock: hexOf(to) }]);

  return async function* logs(topics, from, to) {
    for (let at = from; at <= to; ) {
      const end = Math.min(to, at + blocks - 1);
      let found: ChainLog[];
      try {
        found = await read(topics, at, end);
      } catch (error) {
        if (!(error instanceof NodeRefused)) throw error;
        if (end === at) {
          yield* oneBlock(topics, at, error);
          at += 1;
        } else blocks = Math.max(1, Math.floor((end - at + 1) / 2));
        continue;
      }
      yield* found;
      if (end - at + 1 === blocks && found.length < MANY_LOGS) blocks = Math.min(MAX_BLOCKS, blocks * 2);
      at = end + 1;
    }
  };

  /** Splits the wallets if a single block is refused, because the query then has too many wallets. */
  async function* oneBlock(
    topics: Topics,
    at: number,
    refused: NodeRefused,
  ): AsyncGenerator<ChainLog, void, undefined> {
    const halves = halvesOf(topics);
    if (halves === null) throw refused;
    for (const half of halves) {
      try {
        yield* await read(half, at, at);
      } catch (error) {
        if (!(error instanceof NodeRefused)) throw error;
        yield* oneBlock(half, at, error);
      }
    }
  }
}

function halvesOf(topics: Topics): [Topics, Topics] | null {
  const place = topics.findIndex((topic) => Array.isArray(topic) && topic.length > 1);
  const list = topics[place];
  if (!Array.isArray(list)) return null;
  const half = Math.ceil(list.length / 2);
  return [topics.with(place, list.slice(0, half)), topics.with(place, list.slice(half))];
}
