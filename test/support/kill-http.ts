import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { KillSwitch, Wire } from './kill-switch.ts';

export interface KillHttp {
  url: string;
  close(): Promise<void>;
}

/** Passes requests on as they are, and springs the trap when its method or path comes by. */
export async function startKillHttp(
  target: string,
  wire: Exclude<Wire, 'database'>,
  trap: KillSwitch,
): Promise<KillHttp> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const body = Buffer.concat(chunks);
    const marks = wire === 'chain' ? methodsIn(body) : [request.url ?? ''];
    const meets = (when: 'before' | 'after'): boolean => marks.some((mark) => trap.meets(wire, mark) === when);
    if (meets('before') && trap.spring()) {
      response.destroy();
      return;
    }
    const answered = await fetch(new URL(request.url ?? '/', target), {
      method: request.method ?? 'POST',
      headers: { 'content-type': 'application/json' },
      ...(body.length === 0 ? {} : { body }),
    });
    const text = await answered.text();
    if (meets('after') && trap.spring()) {
      response.destroy();
      return;
    }
    response.writeHead(answered.status, { 'content-type': 'application/json' }).end(text);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function methodsIn(body: Buffer): string[] {
  const asked = JSON.parse(body.toString('utf8')) as { method: string } | { method: string }[];
  return [asked].flat().map(({ method }) => method);
}
