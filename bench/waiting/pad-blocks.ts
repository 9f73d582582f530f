import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sha256 } from '../../src/platform/canonical-json.ts';

type Json = Record<string, unknown>;

/**
 * Proxies the chain and pads each block with as many transaction hashes as on a busy network. They are most of a block's size, and creating
 * real ones for twenty minutes of blocks would take longer than that.
 */
export async function padBlocks(url: string, transactions: number, begun: AsyncDisposableStack): Promise<string> {
  const hashOf = (n: number): string => `0x${sha256(`of a stranger ${n}`).toString('hex')}`;
  const filling = Array.from({ length: transactions }, (_, n) => hashOf(n));
  const pad = (answer: Json): Json => {
    const { result } = answer;
    if (typeof result !== 'object' || result === null || !('transactions' in result)) return answer;
    const own = result.transactions as unknown[];
    return { ...answer, result: { ...result, transactions: [...own, ...filling.slice(own.length)] } };
  };
  const server = createServer(async (request, response) => {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: Buffer.concat(chunks) };
      const answer: unknown = await (await fetch(url, init)).json();
      const padded = Array.isArray(answer) ? answer.map(pad) : pad(answer as Json);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(padded));
    } catch {
      response.destroy();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  begun.defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
