import { once } from 'node:events';
import type { LocalChain } from '../src/local/chain/start-chain.ts';

/** Arrival times of the chain's blocks, on the clock of `performance`. */
export interface Heads {
  latest(): number;
  seenAt(block: number): number | undefined;
  /** Returns when a transfer in this block became final. */
  finalAt(block: number): number | undefined;
  onHead(act: () => void): void;
}

interface Message {
  params?: { result?: { number?: string } };
}

/** Follows the chain by a subscription, so that no polling disturbs the measurement. */
export async function followHeads(chain: LocalChain, begun: AsyncDisposableStack): Promise<Heads> {
  const socket = new WebSocket(chain.url.replace(/^http/, 'ws'));
  begun.defer(() => socket.close());
  await once(socket, 'open');
  const seen = new Map<number, number>();
  const acts: (() => void)[] = [];
  let latest = 0;
  socket.addEventListener('message', ({ data }) => {
    const { number } = (JSON.parse(String(data)) as Message).params?.result ?? {};
    if (number === undefined) return;
    latest = Number(number);
    seen.set(latest, performance.now());
    for (const act of acts) act();
  });
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }));
  return {
    latest: () => latest,
    seenAt: (block) => seen.get(block),
    finalAt: (block) => seen.get(block + chain.finalityBlocks),
    onHead: (act) => void acts.push(act),
  };
}
