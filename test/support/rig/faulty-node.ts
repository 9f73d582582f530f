import type { ServerResponse } from 'node:http';
import { createDice } from '../../stress/dice.ts';
import { startRpcServer } from '../rpc-server.ts';
import { type Ask, askInThePast, type Call, createNode, hex, type Json, numberOf } from './rpc-node.ts';

/**
 * What a provider of good will does now and then: its index lacks a block; it names a head that its state has not reached; two nodes of
 * different heights share its address; it has a block no more for a while.
 */
export const NODE_FAULTS = ['no_logs_of_a_block', 'behind_its_own_head', 'two_nodes', 'forgets_a_block'] as const;
export type NodeFault = (typeof NODE_FAULTS)[number];

/** A provider for everybody, facilitator included. */
export interface FaultyNode {
  url: string;
  leadTo(url: string): void;
  /** Every block after `from` that holds a transaction counts as one that is lost; with two nodes the seed says which of them answers. */
  play(fault: NodeFault, given: { from: bigint; seed: number }): void;
  heal(): void;
  /** Calls that were answered otherwise than the node would. */
  struck(): number;
  close(): Promise<void>;
}

const BEHIND = 3n;
const HEADS = new Set(['latest', 'finalized', 'safe']);

export async function startFaultyNode(): Promise<FaultyNode> {
  const server = await startRpcServer();
  const node = createNode();
  let playing: { fault: NodeFault; from: bigint; dice: ReturnType<typeof createDice> } | null = null;
  let struck = 0;

  /** As a node whose head is some blocks back. */
  const askBehind = async ({ method, params }: Call): Promise<Json> => {
    const head = numberOf((await node.ask('eth_blockNumber', []))['result']) - BEHIND;
    return await askAt(node.ask, { method, params }, head, await node.finality());
  };
  const answer = async (call: Call, isBehind: boolean): Promise<Json> => {
    const { method, params } = call;
    if (playing === null) return await node.ask(method, params);
    const { fault, from } = playing;
    const namesHead = method === 'eth_blockNumber' || HEADS.has(String(params[0]));
    if (fault === 'behind_its_own_head') return namesHead ? await node.ask(method, params) : await askBehind(call);
    if (fault === 'two_nodes') return isBehind ? await askBehind(call) : await node.ask(method, params);
    const truth = await node.ask(method, params);
    return { ...truth, result: LOSSES[fault](call, truth['result'], from) };
  };
  const answerAll = async (response: ServerResponse, body: unknown): Promise<void> => {
    const isBehind = playing?.dice.chance(0.5) === true;
    const answers = await Promise.all(
      ([body].flat() as Call[]).map(async (call) => {
        const { error, result } = await answer(call, isBehind);
        if (playing !== null) {
          const truth = await node.ask(call.method, call.params);
          if (READINGS.has(call.method) && JSON.stringify(truth['result']) !== JSON.stringify(result)) struck += 1;
        }
        return { jsonrpc: '2.0', id: call.id, ...(error === undefined ? { result: result ?? null } : { error }) };
      }),
    );
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(Array.isArray(body) ? answers : answers[0]));
  };
  server.answer((response, body) => void answerAll(response, body).catch(() => response.destroy()));
  return {
    url: server.url,
    leadTo: node.leadTo,
    play: (fault, { from, seed }) => {
      playing = { fault, from, dice: createDice(seed) };
    },
    heal: () => {
      playing = null;
    },
    struck: () => struck,
    close: () => server.close(),
  };
}

/** Asked twice to see what was changed: nothing that sends. */
const READINGS = new Set([
  ...['eth_getBlockByNumber', 'eth_getBlockByHash', 'eth_getTransactionReceipt', 'eth_getBlockReceipts', 'eth_getLogs'],
  ...['eth_call', 'eth_getTransactionCount', 'eth_getTransactionByHash'],
]);

type Loss = (call: Call, result: unknown, from: bigint) => unknown;

const LOSSES: Readonly<Record<'no_logs_of_a_block' | 'forgets_a_block', Loss>> = {
  no_logs_of_a_block: ({ method }, result, from) =>
    method === 'eth_getLogs' && Array.isArray(result)
      ? result.filter((log: Json) => numberOf(log['blockNumber']) <= from)
      : result,
  forgets_a_block: ({ method }, result, from) => {
    if (typeof result !== 'object' || result === null) return result;
    const { number, blockNumber, transactions } = result as Json;
    if (method === 'eth_getTransactionReceipt') return numberOf(blockNumber) > from ? null : result;
    if (method === 'eth_getBlockReceipts') return null;
    const isEmpty = !Array.isArray(transactions) || transactions.length === 0;
    return number === undefined || isEmpty || numberOf(number) <= from ? result : null;
  },
};

/** What `askInThePast` leaves as it is: the account's count and what stands by hash. */
async function askAt(ask: Ask, call: Pick<Call, 'method' | 'params'>, head: bigint, finality: bigint): Promise<Json> {
  const { method, params } = call;
  if (method === 'eth_getTransactionCount') return await ask(method, [params[0], hex(head)]);
  if (method === 'eth_estimateGas') return await ask(method, [params[0], hex(head)]);
  if (method === 'eth_getTransactionByHash' || method === 'eth_getBlockReceipts') {
    const answered = await ask(method, params);
    const first = [answered['result']].flat()[0] as Json | null | undefined;
    const height = first?.['blockNumber'] ?? null;
    return height !== null && numberOf(height) > head ? { result: null } : answered;
  }
  return await askInThePast(ask, call, head, finality);
}
