import { readdirSync, readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Stands before something and counts what passes. */
export interface Meter {
  url: string;
  /** Counted so far, by name. */
  counts(): Readonly<Record<string, number>>;
  close(): Promise<void>;
}

const LENGTH_BYTES = 4;
/** Of the protocol of PostgreSQL: what a client sends to have a statement carried out. */
const STATEMENTS: Readonly<Record<string, string>> = { Q: 'statements', E: 'statements' };

/** Before a PostgreSQL on a socket of its own; `path` is that socket. */
export async function meterDatabase(path: string): Promise<Meter> {
  const counts: Record<string, number> = { statements: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(path);
    const count = createMessageCounter((type) => {
      const name = STATEMENTS[type];
      if (name !== undefined) counts[name] = (counts[name] ?? 0) + 1;
    });
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      sockets.add(socket);
      socket.on('error', () => {});
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
    counts: () => ({ ...counts }),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await closed(server);
    },
  };
}

/** Types of the messages of one client. The first has no type. */
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

/** Before a chain: requests, and the calls in them. */
export async function meterChain(url: string): Promise<Meter> {
  const counts = { requests: 0, calls: 0 };
  const server = createHttpServer(async (request, response) => {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks);
      const parsed: unknown = JSON.parse(body.toString());
      counts.requests += 1;
      counts.calls += Array.isArray(parsed) ? parsed.length : 1;
      const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(Buffer.from(await answer.arrayBuffer()));
    } catch {
      response.destroy();
    }
  });
  const port = await listen(server);
  return { url: `http://127.0.0.1:${port}`, counts: () => ({ ...counts }), close: () => closed(server) };
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

function closed(server: Server): Promise<void> {
  if ('closeAllConnections' in server) (server as ReturnType<typeof createHttpServer>).closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

const TICKS_PER_MS = 0.1;

/** CPU that a process and those it has started took so far, in milliseconds. */
export function cpuMsOf(pid: number): number {
  const children = readdirSync('/proc').flatMap((name) => {
    const stat = /^\d+$/.test(name) ? statOf(Number(name)) : null;
    return stat !== null && stat.parent === pid ? [Number(name)] : [];
  });
  return (statOf(pid)?.cpuMs ?? 0) + children.reduce((sum, child) => sum + cpuMsOf(child), 0);
}

/** Of one process alone. */
export function ownCpuMs(pid: number): number {
  return statOf(pid)?.cpuMs ?? 0;
}

function statOf(pid: number): { parent: number; cpuMs: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Its name may hold spaces and brackets.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [, parent = 0] = fields;
    return { parent, cpuMs: ((fields[11] ?? 0) + (fields[12] ?? 0)) / TICKS_PER_MS };
  } catch {
    return null;
  }
}
