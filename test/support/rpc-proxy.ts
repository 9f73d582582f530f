import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import {
  askInThePast,
  type Call,
  createNode,
  type FaultPlay,
  type Json,
  numberOf,
  playFault,
  RPC_FAULTS,
  type RpcFaultName,
  refuseSpan,
  type Strike,
  type Twist,
} from './rpc-faults.ts';
import { startRpcServer } from './rpc-server.ts';

export type { Twist } from './rpc-faults.ts';

/** A proxy in front of a real node that shows faults on demand. */
export interface RpcProxy {
  url: string;
  /** Forwards all later calls to that node. */
  leadTo(url: string): void;
  /** Like `leadTo`, but returns the proxy's URL for the market. */
  at(chain: { url: string }): string;
  /** Answers as the node did that many blocks ago: heads, blocks, receipts, logs and account states. */
  lag(blocks: number): void;
  /** Refuses log queries over more than `blocks` blocks with the error of a free plan. Null removes the limit. */
  capLogs(blocks: number | null): void;
  /** Hides all blocks after this one, which must exist. Null hides none. */
  freezeAt(block: bigint | null): void;
  /** Cuts every connection while true. */
  silence(isSilent: boolean): void;
  /** Caches answers about blocks by number. Use only on chains without reorgs. */
  remember(): void;
  /** Sets a change to all results. Null makes the node honest. */
  twist(twist: Twist | null): void;
  /** Sets a named fault, which replaces an earlier one. The seed decides which calls it affects. */
  play(name: RpcFaultName, how: FaultPlay): void;
  /** Holds the next request whose text contains `mark`; all others pass. */
  holdNext(mark: string): { held: Promise<void>; release(): void };
  heal(): void;
  /** Number of calls answered or cut so far, in total or of one method. */
  calls(method?: string): number;
  /** Number of HTTP requests so far; each carries one or more calls. */
  requests(): number;
  /** Number of calls affected by named faults so far. */
  struck(): number;
  close(): Promise<void>;
}

interface Bearing {
  behind: number;
  mostLogBlocks: number | null;
  frozen: bigint | null;
  silent: boolean;
  twist: Twist | null;
  next: ((method: string) => Strike | null) | null;
}
const HONEST: Bearing = { behind: 0, mostLogBlocks: null, frozen: null, silent: false, twist: null, next: null };

export async function startRpcProxy(): Promise<RpcProxy> {
  const server = await startRpcServer();
  const node = createNode();
  const gate = createGate();
  let bearing = HONEST;
  let [requests, struck] = [0, 0];
  const calls = new Map<string, number>();
  const change = (by: Partial<Bearing>): void => {
    bearing = { ...bearing, ...by };
  };

  const reply = async (response: ServerResponse, body: unknown): Promise<void> => {
    await gate.pass(body);
    const asked = (Array.isArray(body) ? body : [body]) as Call[];
    requests += 1;
    for (const { method } of asked) calls.set(method, (calls.get(method) ?? 0) + 1);
    const now = bearing;
    if (now.silent) return void response.destroy();
    const strikes = asked.map(({ method }) => now.next?.(method) ?? null);
    struck += strikes.filter((strike) => strike !== null).length;
    const answers = await Promise.all(asked.map((call, at) => answerCall(node, now, call, strikes[at] ?? null)));
    send(response, JSON.stringify(Array.isArray(body) ? answers : answers[0]), strikes);
  };
  server.answer((response, body) => {
    void reply(response, body).catch(() => response.destroy());
  });
  return {
    url: server.url,
    leadTo: node.leadTo,
    at: (chain) => {
      node.leadTo(chain.url);
      return server.url;
    },
    remember: node.remember,
    lag: (behind) => change({ behind }),
    capLogs: (mostLogBlocks) => change({ mostLogBlocks }),
    freezeAt: (frozen) => change({ frozen }),
    silence: (silent) => change({ silent }),
    twist: (twist) => change({ twist }),
    play: (name, how) => change({ next: playFault(RPC_FAULTS[name], how) }),
    holdNext: gate.holdNext,
    heal: () => change(HONEST),
    calls: (method) =>
      method === undefined ? [...calls.values()].reduce((sum, count) => sum + count, 0) : (calls.get(method) ?? 0),
    requests: () => requests,
    struck: () => struck,
    close: () => server.close(),
  };
}

/** Answers one call with the node's answer after all faults. */
async function answerCall(
  node: ReturnType<typeof createNode>,
  { behind, frozen, mostLogBlocks, twist }: Bearing,
  call: Call,
  strike: Strike | null,
): Promise<Json> {
  const { id } = call;
  const fault = strike?.fault;
  if (strike && fault?.kind === 'delay') await wait(fault.ms(strike.dice));
  if (fault?.kind === 'error') return { jsonrpc: '2.0', id, error: fault.error };
  const refused = mostLogBlocks === null ? null : await refuseSpan(node.ask, call, mostLogBlocks);
  if (refused !== null) return { jsonrpc: '2.0', id, error: refused };
  const lag = strike && fault?.kind === 'behind' ? fault.blocks(strike.dice) : behind;
  const { error, result } = await askAsOf(node, call, lag, frozen);
  if (error !== undefined) return { jsonrpc: '2.0', id, error };
  const told = twist === null ? result : twist(result, call);
  return { jsonrpc: '2.0', id, result: (fault?.kind === 'twist' ? fault.twist(told, call) : told) ?? null };
}

async function askAsOf(
  node: ReturnType<typeof createNode>,
  call: Call,
  behind: number,
  frozen: bigint | null,
): Promise<Json> {
  if (behind === 0 && frozen === null) return await node.ask(call.method, call.params);
  let head = frozen;
  if (head === null || behind > 0) {
    const real = numberOf((await node.ask('eth_blockNumber', []))['result']);
    const lagging = real > BigInt(behind) ? real - BigInt(behind) : 0n;
    head = head !== null && head < lagging ? head : lagging;
  }
  return await askInThePast(node.ask, call, head, await node.finality());
}

/** Sends the response to a whole request. One affected call spoils the whole response. */
function send(response: ServerResponse, text: string, strikes: readonly (Strike | null)[]): void {
  for (const strike of strikes) {
    if (strike?.fault.kind === 'cut') return void response.destroy();
    if (strike?.fault.kind !== 'reply') continue;
    const { status, headers, body } = strike.fault;
    return void response.writeHead(status, headers).end(body(text));
  }
  response.setHeader('content-type', 'application/json');
  response.end(text);
}

function createGate() {
  let next: { mark: string; meet(): void; opened: Promise<void> } | null = null;
  return {
    pass: async (body: unknown): Promise<void> => {
      if (next === null || !JSON.stringify(body).includes(next.mark)) return;
      const { meet, opened } = next;
      next = null;
      meet();
      await opened;
    },
    holdNext: (mark: string) => {
      const met = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<void>();
      next = { mark, meet: met.resolve, opened: gate.promise };
      return { held: met.promise, release: gate.resolve };
    },
  };
}
