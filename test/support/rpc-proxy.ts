import type { ServerResponse } from 'node:http';
import { startRpcServer } from './rpc-server.ts';

type Call = { id: number; method: string; params: unknown[] };
type Json = Record<string, unknown>;
type Ask = (method: string, params: unknown[]) => Promise<Json>;
/** Changes what the node answered. */
export type Twist = (result: unknown, call: Call) => unknown;

/** A provider in front of a real node, as good or as bad as a test needs it. */
export interface RpcProxy {
  url: string;
  /** Which node stands behind it. */
  leadTo(url: string): void;
  /** Shows the node as it was that many blocks ago: heads, blocks, receipts, logs and states. */
  lag(blocks: number): void;
  /** Shows no block after this one, which the node has; null: all. */
  freezeAt(block: bigint | null): void;
  /** Cuts every connection. */
  silence(isSilent: boolean): void;
  /** Answers about blocks by number from memory: for a chain without reorganisations. */
  remember(): void;
  /** Null: honest. */
  twist(twist: Twist | null): void;
  /** As good as the node again. */
  heal(): void;
  /** Calls answered or cut so far. */
  calls(): number;
  close(): Promise<void>;
}

export async function startRpcProxy(): Promise<RpcProxy> {
  const server = await startRpcServer();
  const node = createNode();
  let [behind, silent, calls] = [0, false, 0];
  let frozen: bigint | null = null;
  let twist: Twist | null = null;

  const shownHead = async (): Promise<bigint> => {
    if (behind === 0 && frozen !== null) return frozen;
    const real = numberOf((await node.ask('eth_blockNumber', []))['result']);
    const lagging = real > BigInt(behind) ? real - BigInt(behind) : 0n;
    return frozen !== null && frozen < lagging ? frozen : lagging;
  };
  const answer = async (call: Call): Promise<Json> => {
    calls += 1;
    const isPast = behind > 0 || frozen !== null;
    const answered = isPast
      ? await askInThePast(node.ask, call, await shownHead(), await node.finality())
      : await node.ask(call.method, call.params);
    const { error, result } = answered;
    if (error !== undefined) return { jsonrpc: '2.0', id: call.id, error };
    return { jsonrpc: '2.0', id: call.id, result: twist === null ? result : (twist(result, call) ?? null) };
  };
  const reply = async (response: ServerResponse, body: unknown): Promise<void> => {
    if (silent) {
      calls += 1;
      response.destroy();
      return;
    }
    const asked = body as Call | Call[];
    const answers = Array.isArray(asked) ? await Promise.all(asked.map(answer)) : await answer(asked);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answers));
  };
  server.answer((response, body) => {
    void reply(response, body).catch(() => response.destroy());
  });
  return {
    url: server.url,
    leadTo: node.leadTo,
    remember: node.remember,
    lag: (blocks) => {
      behind = blocks;
    },
    freezeAt: (block) => {
      frozen = block;
    },
    silence: (isSilent) => {
      silent = isSilent;
    },
    twist: (given) => {
      twist = given;
    },
    heal: () => {
      [behind, silent, frozen, twist] = [0, false, null, null];
    },
    calls: () => calls,
    close: () => server.close(),
  };
}

/** The real node behind a proxy. */
function createNode() {
  let target = '';
  let distance: bigint | null = null;
  let known: Map<string, Json> | null = null;
  const ask: Ask = async (method, params) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const isLasting =
      method === 'eth_chainId' || (method === 'eth_getBlockByNumber' && String(params[0]).startsWith('0x'));
    const kept = isLasting ? known?.get(body) : undefined;
    if (kept !== undefined) return kept;
    const answer = await fetch(target, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const read = (await answer.json()) as Json;
    if (isLasting && read['result'] !== null) known?.set(body, read);
    return read;
  };
  return {
    ask,
    finality: async (): Promise<bigint> => {
      distance ??= await finalityOf(ask);
      return distance;
    },
    leadTo: (url: string): void => {
      target = url;
      distance = null;
    },
    remember: (): void => {
      known = new Map();
    },
  };
}

/** How far the finalized head of the node is behind its latest block. */
async function finalityOf(ask: Ask): Promise<bigint> {
  const [real, final] = await Promise.all([
    ask('eth_blockNumber', []),
    ask('eth_getBlockByNumber', ['finalized', false]),
  ]);
  return numberOf(real['result']) - numberOf((final['result'] as Json)['number']);
}

const hex = (number: bigint): string => `0x${number.toString(16)}`;
const numberOf = (value: unknown): bigint => BigInt(String(value));

/** What a node whose head is `head` would say. Its finalized head is as far behind as the real one's. */
async function askInThePast(ask: Ask, { method, params }: Call, head: bigint, distance: bigint): Promise<Json> {
  const at = async (which: unknown): Promise<bigint | null> => {
    if (which === 'latest' || which === 'pending') return head;
    if (which === 'finalized') {
      return head > distance ? head - distance : 0n;
    }
    return typeof which === 'string' && which.startsWith('0x') ? numberOf(which) : null;
  };
  if (method === 'eth_blockNumber') return { result: hex(head) };
  if (method === 'eth_getBlockByNumber') {
    const number = (await at(params[0])) ?? head;
    return number > head ? { result: null } : ask(method, [hex(number), params[1]]);
  }
  if (method === 'eth_call' || method === 'eth_getCode') {
    const number = (await at(params[1])) ?? head;
    if (number > head) return { error: { code: -32000, message: 'header not found' } };
    return ask(method, [params[0], hex(number)]);
  }
  const answered = await ask(method, params);
  const { result } = answered;
  if (method === 'eth_getTransactionReceipt' && result !== null) {
    return numberOf((result as Json)['blockNumber']) > head ? { result: null } : answered;
  }
  if (method === 'eth_getLogs' && Array.isArray(result)) {
    return { result: result.filter((log: Json) => numberOf(log['blockNumber']) <= head) };
  }
  return answered;
}
