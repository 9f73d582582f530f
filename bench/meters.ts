import { Agent, createServer as createHttpServer, type Server as HttpServer, request as httpRequest } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { readCalls, sizesByMethod } from './rpc-bodies.ts';

/** Totals so far, by name. */
export type Counts = Readonly<Record<string, number>>;

/** A proxy that counts traffic. */
export interface Meter {
  /** URL of the proxy. For a database, its host and port. */
  url: string;
  counts(): Counts;
  close(): Promise<void>;
}

const LENGTH_BYTES = 4;
/** Messages of the PostgreSQL protocol that execute a statement. */
const STATEMENTS = new Set(['Q', 'E']);

/** Proxies a PostgreSQL on a Unix socket at `path`. */
export async function meterDatabase(path: string): Promise<Meter> {
  let statements = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(path);
    const count = createMessageCounter((type) => {
      if (STATEMENTS.has(type)) statements += 1;
    });
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    client.on('data', (bytes) => {
      count(bytes);
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => client.write(bytes));
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  const port = await listen(server);
  return {
    url: `127.0.0.1:${port}`,
    counts: () => ({ statements }),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await closeServer(server);
    },
  };
}

/** Reports the types of one client's messages. The first message has no type. */
function createMessageCounter(see: (type: string) => void): (bytes: Buffer) => void {
  let waiting: Buffer = Buffer.alloc(0);
  let skip = 0;
  let typed = 0;
  return (bytes) => {
    waiting = waiting.length === 0 ? bytes : Buffer.concat([waiting, bytes]);
    while (waiting.length > 0) {
      const passed = Math.min(skip, waiting.length);
      skip -= passed;
      waiting = waiting.subarray(passed);
      if (skip > 0 || waiting.length < typed + LENGTH_BYTES) return;
      if (typed === 1) see(String.fromCharCode(waiting[0] ?? 0));
      skip = typed + waiting.readInt32BE(typed);
      typed = 1;
    }
  };
}

/**
 * Proxies a chain and counts requests, the calls in them, and the bytes of both bodies. A batch is one request. `calls NAME` and `bytes
 * NAME` count one method, in a batch by the length of each item.
 */
export async function meterChain(url: string): Promise<Meter> {
  const counts: Record<string, number> = { requests: 0, calls: 0, bytes: 0 };
  const add = (name: string, count: number): void => {
    counts[name] = (counts[name] ?? 0) + count;
  };
  const agent = new Agent({ keepAlive: true });
  const server = createHttpServer(async (request, response) => {
    try {
      const asked = await bodyOf(request);
      const answer = await forwardBody(url, agent, asked);
      const calls = readCalls(asked);
      add('requests', 1);
      add('calls', calls.length);
      add('bytes', asked.length + answer.body.length);
      for (const { method, bytes } of sizesByMethod(calls, asked, answer.body)) {
        add(`calls ${method}`, 1);
        add(`bytes ${method}`, bytes);
      }
      response.writeHead(answer.status, { 'content-type': 'application/json', 'content-length': answer.body.length });
      response.end(answer.body);
    } catch {
      response.destroy();
    }
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    counts: () => ({ ...counts }),
    close: async () => {
      agent.destroy();
      await closeServer(server);
    },
  };
}

function forwardBody(url: string, agent: Agent, body: Buffer): Promise<{ status: number; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const passed = httpRequest(url, { method: 'POST', agent, headers }, (response) => {
      bodyOf(response).then((answer) => resolve({ status: response.statusCode ?? 502, body: answer }), reject);
    });
    passed.once('error', reject);
    passed.end(body);
  });
}

async function bodyOf(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

function closeServer(server: Server | HttpServer): Promise<void> {
  if ('closeAllConnections' in server) server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
