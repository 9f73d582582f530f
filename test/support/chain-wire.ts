import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { startRpcServer } from './rpc-server.ts';

export interface ChainWire {
  /** The address to give to a market. */
  at(chain: LocalChain): string;
  /** From here on nothing can be read. */
  cut(): void;
  mend(): void;
  /** Holds the next request whose text has `mark` in it; all others go through. */
  holdNext(mark: string): { held: Promise<void>; release(): void };
  close(): Promise<void>;
}

/** Between a market and its chain: it can be cut, and hold up one reading, so that a race needs no chance. */
export async function startChainWire(): Promise<ChainWire> {
  const server = await startRpcServer();
  let target = '';
  let isCut = false;
  let next: { mark: string; meet(): void; gate: Promise<void> } | null = null;
  server.answer(async (response, body) => {
    const text = JSON.stringify(body);
    if (next !== null && text.includes(next.mark)) {
      const { meet, gate } = next;
      next = null;
      meet();
      await gate;
    }
    if (isCut) {
      response.statusCode = 502;
      response.end();
      return;
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
    cut: () => {
      isCut = true;
    },
    mend: () => {
      isCut = false;
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
