export type Json = Record<string, unknown>;
export interface Call {
  id: number;
  method: string;
  params: unknown[];
}
export type Ask = (method: string, params: unknown[]) => Promise<Json>;

/** The real node behind a proxy. */
export interface RpcNode {
  ask: Ask;
  /** How far its finalized head is behind its latest block. */
  finality(): Promise<bigint>;
  leadTo(url: string): void;
  /** Answers about blocks by number from memory: for a chain without reorganisations. */
  remember(): void;
}

export function createNode(): RpcNode {
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
    finality: async () => {
      distance ??= await finalityOf(ask);
      return distance;
    },
    leadTo: (url) => {
      target = url;
      distance = null;
    },
    remember: () => {
      known = new Map();
    },
  };
}

async function finalityOf(ask: Ask): Promise<bigint> {
  const [real, final] = await Promise.all([
    ask('eth_blockNumber', []),
    ask('eth_getBlockByNumber', ['finalized', false]),
  ]);
  return numberOf(real['result']) - numberOf((final['result'] as Json)['number']);
}

export const hex = (number: bigint): string => `0x${number.toString(16)}`;
export const numberOf = (value: unknown): bigint => BigInt(String(value));

/** What a node whose head is `head` would say. Its finalized head is as far behind as the real one's. */
export async function askInThePast(
  ask: Ask,
  { method, params }: Pick<Call, 'method' | 'params'>,
  head: bigint,
  distance: bigint,
): Promise<Json> {
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
  const heightIn = { eth_getTransactionReceipt: 'blockNumber', eth_getBlockByHash: 'number' }[method];
  if (heightIn !== undefined && result !== null) {
    return numberOf((result as Json)[heightIn]) > head ? { result: null } : answered;
  }
  if (method === 'eth_getLogs' && Array.isArray(result)) {
    return { result: result.filter((log: Json) => numberOf(log['blockNumber']) <= head) };
  }
  return answered;
}
