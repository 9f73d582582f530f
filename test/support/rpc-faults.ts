import { TRANSFER_TOPIC } from '../../src/platform/chain/usdc.ts';
import { createDice, type Dice } from './dice.ts';

export type Json = Record<string, unknown>;
export interface Call {
  id: number;
  method: string;
  params: unknown[];
}
export type Ask = (method: string, params: unknown[]) => Promise<Json>;

/** The real node behind a proxy. */
interface RpcNode {
  ask: Ask;
  /** Distance of its finalized head from its latest block. */
  finality(): Promise<bigint>;
  leadTo(url: string): void;
  /** Caches answers about blocks by number. Use only on chains without reorgs. */
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

/** Answers as a node would at that past head. Its finalized head is as far behind as the real one's. */
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

/** Returns the error of a plan that limits log queries to `most` blocks; null if the call is allowed. */
export async function refuseSpan(ask: Ask, { method, params }: Call, most: number): Promise<Json | null> {
  const [filter] = params as [Json | undefined];
  if (method !== 'eth_getLogs' || filter === undefined || filter['blockHash'] !== undefined) return null;
  const at = async (which: unknown): Promise<bigint> =>
    typeof which === 'string' && which.startsWith('0x')
      ? numberOf(which)
      : numberOf((await ask('eth_blockNumber', []))['result']);
  const blocks = (await at(filter['toBlock'])) - (await at(filter['fromBlock'])) + 1n;
  if (blocks <= BigInt(most)) return null;
  return { code: -32_600, message: `You can make eth_getLogs requests with up to a ${most} block range.` };
}

export type Twist = (result: unknown, call: Call) => unknown;

/** A defect of one call to a provider. */
type Defect =
  | { kind: 'delay'; ms(dice: Dice): number }
  | { kind: 'behind'; blocks(dice: Dice): number }
  | { kind: 'twist'; twist: Twist }
  | { kind: 'error'; error: Json }
  | { kind: 'cut' }
  | { kind: 'reply'; status: number; headers: Record<string, string>; body(answer: string): string };

export type RpcFault = Defect & {
  /** True if the lie is consistent in all answers, so that only another provider can expose it. */
  needsWitness?: true;
  /** True if the node names a wrong final block, which may halt payments until an operator has checked. */
  mayHalt?: true;
  /** True if payments may still be decided while the fault is active. */
  passable?: true;
  /** True if only searches lie. Lookups by hash are honest, and a claim asks the second provider only for those. */
  searchesOnly?: true;
};

/** More blocks than any test's finality needs. */
const FAR_BEHIND = 40;
const LONGEST_DELAY_MS = 40;
const JSON_TYPE = { 'content-type': 'application/json' };
const STRANGER = '5'.repeat(40);

const isBlock = ({ method }: Call): boolean => method === 'eth_getBlockByNumber' || method === 'eth_getBlockByHash';
const hasTransactions = (block: Json): boolean => (block['transactions'] as unknown[]).length > 0;
const forgedHash = (hash: unknown): string => String(hash).replace(/^0x..../, '0xdead');
const isTransfer = (log: Json): boolean => (log['topics'] as string[])[0] === TRANSFER_TOPIC;

function forgedHashes(isForged: (block: Json) => boolean): Twist {
  return (result, call) => {
    if (!isBlock(call) || result === null || !isForged(result as Json)) return result;
    return { ...(result as Json), hash: forgedHash((result as Json)['hash']) };
  };
}

/** Changes logs in receipts, and by default also in searches, which then match the changed logs. */
function changedLogs(change: (log: Json) => Json[], where: 'everywhere' | 'in_receipts' = 'everywhere'): Twist {
  return (result, { method, params }) => {
    if (method === 'eth_getTransactionReceipt' && result !== null) {
      return { ...(result as Json), logs: ((result as Json)['logs'] as Json[]).flatMap(change) };
    }
    if (method !== 'eth_getLogs' || where === 'in_receipts' || !Array.isArray(result)) return result;
    return result.flatMap(change).filter((log) => matchesFilter(log, params[0] as Json));
  };
}

function matchesFilter(log: Json, filter: Json): boolean {
  const topics = (filter['topics'] ?? []) as (string | string[] | null)[];
  const own = log['topics'] as string[];
  return (
    String(log['address']).toLowerCase() === String(filter['address']).toLowerCase() &&
    topics.every((wanted, at) => wanted === null || [wanted].flat().includes(own[at] ?? ''))
  );
}

const onTransfers =
  (change: (log: Json) => Json[]) =>
  (log: Json): Json[] =>
    isTransfer(log) ? change(log) : [log];
const anotherAmount = onTransfers((log) => [
  { ...log, data: `0x${(BigInt(String(log['data'])) - 1n).toString(16).padStart(64, '0')}` },
]);
const anotherPayee = onTransfers((log) => {
  const [topic, from] = log['topics'] as string[];
  return [{ ...log, topics: [topic, from, `0x${STRANGER.padStart(64, '0')}`] }];
});
const anotherToken = onTransfers((log) => [{ ...log, address: `0x${STRANGER}` }]);
const noTransfer = onTransfers(() => []);

/** Hides a transaction's block, by number and by hash, as if it did not exist yet. */
const blockToCome: Twist = (result, call) => {
  const isNamed = isBlock(call) && String(call.params[0]).startsWith('0x');
  return isNamed && result !== null && hasTransactions(result as Json) ? null : result;
};

/** All faults that a provider may have, by name. */
export const RPC_FAULTS = {
  delay: { kind: 'delay', ms: (dice) => dice.number(LONGEST_DELAY_MS), passable: true },
  cut: { kind: 'cut' },
  null_result: { kind: 'twist', twist: () => null },
  stale_head: { kind: 'behind', blocks: () => FAR_BEHIND },
  head_running_backwards: { kind: 'behind', blocks: (dice) => dice.number(FAR_BEHIND), passable: true },
  forged_block_hash: { kind: 'twist', twist: forgedHashes(hasTransactions), mayHalt: true },
  forged_chain: { kind: 'twist', twist: forgedHashes(() => true), mayHalt: true },
  forged_amount: { kind: 'twist', twist: changedLogs(anotherAmount), needsWitness: true },
  forged_payee: { kind: 'twist', twist: changedLogs(anotherPayee), needsWitness: true },
  forged_token: { kind: 'twist', twist: changedLogs(anotherToken), needsWitness: true },
  missing_log: { kind: 'twist', twist: changedLogs(noTransfer), needsWitness: true },
  forged_amount_in_receipt: { kind: 'twist', twist: changedLogs(anotherAmount, 'in_receipts') },
  forged_payee_in_receipt: { kind: 'twist', twist: changedLogs(anotherPayee, 'in_receipts') },
  forged_token_in_receipt: { kind: 'twist', twist: changedLogs(anotherToken, 'in_receipts') },
  missing_log_in_receipt: { kind: 'twist', twist: changedLogs(noTransfer, 'in_receipts') },
  no_logs_found: {
    kind: 'twist',
    twist: (result, { method }) => (method === 'eth_getLogs' ? [] : result),
    searchesOnly: true,
  },
  wrong_chain_id: { kind: 'twist', twist: (result, { method }) => (method === 'eth_chainId' ? '0x1' : result) },
  removed: { kind: 'twist', twist: changedLogs((log) => [{ ...log, removed: true }]) },
  receipt_before_block: { kind: 'twist', twist: blockToCome },
  http_429: { kind: 'reply', status: 429, headers: { ...JSON_TYPE, 'retry-after': '1' }, body: () => '{}' },
  json_rpc_error: { kind: 'error', error: { code: -32_005, message: 'limit exceeded' } },
  html_body: { kind: 'reply', status: 200, headers: { 'content-type': 'text/html' }, body: () => '<html>Sorry</html>' },
  truncated_json: {
    kind: 'reply',
    status: 200,
    headers: JSON_TYPE,
    body: (answer) => answer.slice(0, Math.ceil(answer.length / 2)),
  },
} as const satisfies Record<string, RpcFault>;

export type RpcFaultName = keyof typeof RPC_FAULTS;
export const RPC_FAULT_NAMES = Object.keys(RPC_FAULTS) as RpcFaultName[];

export interface FaultPlay {
  seed: number;
  /** Share of calls that fail, from 0 to 1. Default: all. */
  chance?: number;
}

/** A fault for one call, with its own random numbers. */
export interface Strike {
  fault: RpcFault;
  dice: Dice;
}

/** Decides for each call whether it fails. The nth call of a method always gets the same decision, regardless of other calls. */
export function playFault(fault: RpcFault, { seed, chance = 1 }: FaultPlay): (method: string) => Strike | null {
  const counts = new Map<string, number>();
  return (method) => {
    const nth = counts.get(method) ?? 0;
    counts.set(method, nth + 1);
    const dice = createDice(hashSeed(`${seed} ${method} ${nth}`));
    return dice.chance(chance) ? { fault, dice } : null;
  };
}

/** FNV-1a, because similar seeds must not give similar results. */
function hashSeed(text: string): number {
  let state = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) state = Math.imul(state ^ text.charCodeAt(at), 0x01000193);
  return state >>> 0;
}
