import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';

export interface Gate {
  url: string;
  /** Says which chain is behind it, and returns its own address. */
  leadTo(chain: LocalChain): string;
  /** Lets nobody else in while this runs, and waits before until everybody is out. */
  alone(act: () => Promise<void>): Promise<void>;
  close(): void;
}

/** Stands before the node, for whoever must not see it half-way through a change. */
export async function openGate(): Promise<Gate> {
  let target = '';
  let closed: Promise<void> | null = null;
  const inside = new Set<Promise<unknown>>();
  const forward = async (body: Buffer<ArrayBuffer>): Promise<string> => {
    while (closed !== null) await closed;
    const asked = fetch(target, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const answered = asked.then((answer) => answer.text());
    const left: Promise<unknown> = answered.catch(() => {}).then(() => inside.delete(left));
    inside.add(left);
    return await answered;
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    try {
      const answer = await forward(Buffer.concat(chunks));
      response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
    } catch {
      response.destroy();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    leadTo: (chain) => {
      target = chain.url;
      return url;
    },
    alone: async (act) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      closed = promise;
      try {
        await Promise.all(inside);
        await act();
      } finally {
        closed = null;
        resolve();
      }
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
