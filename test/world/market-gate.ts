import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

/** `hold` keeps the request at the gate. `lose_request` cuts it before the market sees it. `lose_answer` lets it run but cuts the answer. */
export type Passage = 'pass' | 'hold' | 'lose_request' | 'lose_answer';

export interface MarketGate {
  url: string;
  /** Decides how requests with that `action` in their body are handled. For a request without an action, the URL counts as its action. */
  set(action: string, passage: Passage): void;
  /** Resolves once that many requests with that action wait at the gate. */
  held(action: string, count?: number): Promise<void>;
  /** Forwards the waiting requests. */
  letGo(): void;
  /** Drops the waiting requests, so the market never sees them. */
  drop(): void;
  close(): Promise<void>;
}

/** A proxy between client and market that cuts connections on demand. */
export async function openGate(market: () => string): Promise<MarketGate> {
  const passages = new Map<string, Passage>();
  const waiting: { action: string; go(): void }[] = [];
  const watchers: (() => void)[] = [];

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request);
    const action = /"action":"(\w+)"/.exec(body)?.[1] ?? request.url ?? '';
    const passage = passages.get(action) ?? 'pass';
    if (passage === 'lose_request') return void request.socket.destroy();
    if (passage === 'hold') {
      await new Promise<void>((go) => {
        waiting.push({ action, go });
        for (const watcher of watchers.splice(0)) watcher();
      });
    }
    const answer = await fetch(`${market()}${request.url}`, {
      method: request.method ?? 'GET',
      headers: headersOf(request),
      body: request.method === 'GET' ? null : body,
    });
    const text = await answer.text();
    if (passage === 'lose_answer') return void request.socket.destroy();
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    response.end(text);
  };
  const server = createServer((request, response) => void handle(request, response).catch(() => response.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    set: (action, passage) => void passages.set(action, passage),
    held: async (action, count = 1) => {
      while (waiting.filter((one) => one.action === action).length < count)
        await new Promise<void>((seen) => watchers.push(seen));
    },
    letGo: () => {
      for (const { go } of waiting.splice(0)) go();
    },
    drop: () => void waiting.splice(0),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function headersOf(request: IncomingMessage): Record<string, string> {
  const names = ['authorization', 'content-type', 'accept'] as const;
  return Object.fromEntries(
    names.flatMap((name) => (request.headers[name] === undefined ? [] : [[name, request.headers[name]]])),
  );
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}
