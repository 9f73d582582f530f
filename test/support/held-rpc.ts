import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { startRpcServer } from './rpc-server.ts';

export interface HeldRpc {
  /** The address to give to who is to be held up. */
  at(chain: LocalChain): string;
  /** Holds the next request whose text has `mark` in it; all others go through. */
  holdNext(mark: string): { held: Promise<void>; release(): void };
  close(): Promise<void>;
}

/** Stands between a market and its chain, and holds up one reading for as long as a test wants: a race without chance. */
export async function startHeldRpc(): Promise<HeldRpc> {
  const server = await startRpcServer();
  let target = '';
  let next: { mark: string; meet(): void; gate: Promise<void> } | null = null;
  server.answer(async (response, body) => {
    const text = JSON.stringify(body);
    if (next !== null && text.includes(next.mark)) {
      const { meet, gate } = next;
      next = null;
      meet();
      await gate;
    }
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(target, { method: 'POST', headers, body: text });
    response.end(await answer.text());
  });
  return {
    at: (chain) => {
      target = chain.url;
      return server.url;
    },
    holdNext: (mark) => {
      const met = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<void>();
      next = { mark, meet: met.resolve, gate: gate.promise };
      return { held: met.promise, release: gate.resolve };
    },
    close: () => server.close(),
  };
}
