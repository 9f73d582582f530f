/** The chain as plain JSON-RPC says it. Nothing here is shared with the market: the two must agree by being right. */

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
  /** Of the finalized head. */
  finalNumber: number;
  receipt(hash: string): Promise<ChainReceipt | null>;
  /** By number, in the canonical chain. */
  block(number: number): Promise<ChainBlock | null>;
  /** All logs of the token with that first topic up to the finalized head. */
  finalLogs(topic: string): Promise<ChainLog[]>;
}

export async function openChain(url: string, token: string): Promise<Chain> {
  const ask = createAsking(url);
  const { number } = await ask<ChainBlock>('eth_getBlockByNumber', ['finalized', false]);
  const kept = new Map<string, Promise<unknown>>();
  const once = <T>(key: string, read: () => Promise<T>): Promise<T> => {
    const reading = (kept.get(key) as Promise<T> | undefined) ?? read();
    kept.set(key, reading);
    return reading;
  };
  return {
    finalNumber: Number(number),
    receipt: (hash) => once(hash, () => ask('eth_getTransactionReceipt', [hash])),
    block: (at) => once(`block ${at}`, () => ask('eth_getBlockByNumber', [`0x${at.toString(16)}`, false])),
    finalLogs: (topic) =>
      once(topic, () => ask('eth_getLogs', [{ address: token, topics: [topic], fromBlock: '0x0', toBlock: number }])),
  };
}

type Asking = <T>(method: string, params: unknown[]) => Promise<T>;

interface Asked {
  method: string;
  params: unknown[];
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** What nodes take in one go. */
const AT_ONCE = 100;

/** Whatever is asked side by side goes in one request: there are many payments to look at. */
function createAsking(url: string): Asking {
  let waiting: Asked[] = [];
  const send = async (asked: readonly Asked[]): Promise<void> => {
    try {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(asked.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }))),
      });
      const answers = (await answer.json()) as { id: number; result?: unknown; error?: { message: string } }[];
      const byId = new Map(answers.map((one) => [one.id, one]));
      for (const [id, { method, resolve, reject }] of asked.entries()) {
        const one = byId.get(id);
        if (one === undefined || one.error !== undefined)
          reject(new Error(`${method}: ${one?.error?.message ?? 'no answer'}`));
        else resolve(one.result);
      }
    } catch (error) {
      for (const { reject } of asked) reject(error instanceof Error ? error : new Error(String(error)));
    }
  };
  const flush = (): void => {
    const asked = waiting;
    waiting = [];
    for (let at = 0; at < asked.length; at += AT_ONCE) void send(asked.slice(at, at + AT_ONCE));
  };
  return <T>(method: string, params: unknown[]): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      if (waiting.length === 0) setImmediate(flush);
      waiting.push({ method, params, resolve: (result) => resolve(result as T), reject });
    });
}

/** The last twenty bytes of a topic. */
export const walletOf = (topic: string | undefined): string => `0x${(topic ?? '').slice(-40).toLowerCase()}`;

export interface Moved {
  from: string;
  to: string;
  units: bigint;
  logIndex: number;
}

/** What a receipt says was moved of the token. */
export function movesOf(receipt: ChainReceipt, token: string): Moved[] {
  return receipt.logs
    .filter((log) => log.address.toLowerCase() === token && log.topics[0] === TRANSFER && log.topics.length === 3)
    .map((log) => ({
      from: walletOf(log.topics[1]),
      to: walletOf(log.topics[2]),
      units: BigInt(log.data),
      logIndex: Number(log.logIndex),
    }));
}

/** Payer and nonce of every authorization that was used, in one text each. */
export function authorizationsIn(logs: readonly ChainLog[], token: string): string[] {
  return logs
    .filter(({ address, topics }) => address.toLowerCase() === token && topics[0] === AUTHORIZATION_USED)
    .map(({ topics }) => `${walletOf(topics[1])} ${topics[2]}`);
}

/**
 * The transfer that an authorization made: the token writes the use and, in the next place of the block's logs, the transfer. What
 * stands further back in the transaction was moved by something else.
 */
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
