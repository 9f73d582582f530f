import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Client } from 'pg';
import { createCutter, type Message } from './kill-postgres.ts';

export interface PoolerOptions {
  /** Whether a client keeps its server session for a transaction or for its whole connection. */
  mode: 'transaction' | 'session';
  /** Number of server sessions. */
  size: number;
  /** The free session that is lent next: the one returned last, or the one returned first. */
  lends?: 'last' | 'first';
}

export interface PostgresPooler {
  /** URL of the same database through the pooler, without a password. */
  url: string;
  close(): Promise<void>;
}

/** A server session, lent to a client or free. */
interface Session {
  socket: Socket;
  client: PoolerClient | null;
}

interface PoolerClient {
  socket: Socket;
  session: Session | null;
  /** Messages that wait for a session. */
  pending: Message[];
  /** Number of outstanding responses. */
  unanswered: number;
}

/** Startup parameters that PgBouncer accepts; it refuses all others. */
const STARTUP_PARAMETERS = new Set([
  ...['user', 'database', 'application_name', 'client_encoding'],
  ...['DateStyle', 'TimeZone', 'standard_conforming_strings'],
]);

/** Lends server sessions to clients and takes them back. */
function createExchange({ mode, lends }: PoolerOptions) {
  const free: Session[] = [];
  const waiting: PoolerClient[] = [];

  const lend = (session: Session, client: PoolerClient): void => {
    session.client = client;
    client.session = session;
    forward(client);
  };
  /** Makes a new or returned session available. */
  const take = (session: Session): void => {
    if (session.client !== null) session.client.session = null;
    session.client = null;
    const next = waiting.shift();
    if (next === undefined) free.push(session);
    else lend(session, next);
  };
  const forward = (client: PoolerClient): void => {
    if (client.session === null) {
      const session = lends === 'first' ? free.shift() : free.pop();
      if (session !== undefined) lend(session, client);
      else if (!waiting.includes(client)) waiting.push(client);
      return;
    }
    for (const { type, raw } of client.pending.splice(0)) {
      if (type === 'Q' || type === 'S') client.unanswered += 1;
      client.session.socket.write(raw);
    }
  };
  return {
    take,
    forward,
    hear: (session: Session, { type, raw, body }: Message): void => {
      const { client } = session;
      if (client === null) return;
      client.socket.write(raw);
      if (type !== 'Z') return;
      client.unanswered -= 1;
      const isIdle = client.unanswered === 0 && body.toString('latin1') === 'I';
      if (isIdle && mode === 'transaction') take(session);
    },
    /** Removes a client and returns the session it had. */
    leave: (client: PoolerClient): Session | null => {
      if (waiting.includes(client)) waiting.splice(waiting.indexOf(client), 1);
      const { session } = client;
      if (session !== null) session.client = null;
      return session;
    },
  };
}

/** A pooler like PgBouncer that resets nothing between two clients. */
export async function startPostgresPooler(target: string, options: PoolerOptions): Promise<PostgresPooler> {
  const exchange = createExchange(options);
  const sockets = new Set<Socket>();
  const opening = new Set<Promise<void>>();

  const openSession = async (): Promise<void> => {
    const socket = await connectSession(target);
    sockets.add(socket);
    const session: Session = { socket, client: null };
    const cut = createCutter('server');
    socket.on('data', (chunk: Buffer) => {
      for (const message of cut(chunk)) exchange.hear(session, message);
    });
    exchange.take(session);
  };
  const server = createServer({ noDelay: true }, (socket) => {
    const client: PoolerClient = { socket, session: null, pending: [], unanswered: 0 };
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      const session = exchange.leave(client);
      if (session === null || !server.listening) return;
      // Close the session instead of resetting it.
      session.socket.destroy();
      const opened = openSession().finally(() => opening.delete(opened));
      opening.add(opened);
    });
    const cut = createCutter('client');
    socket.on('data', (chunk: Buffer) => {
      for (const message of cut(chunk)) {
        if (message.type === '') answerStartup(socket, message);
        else if (message.type !== 'X') client.pending.push(message);
      }
      if (client.pending.length > 0) exchange.forward(client);
    });
  });
  for (let opened = 0; opened < options.size; opened += 1) await openSession();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = new URL('postgresql://nobody@127.0.0.1');
  address.port = String((server.address() as AddressInfo).port);
  address.pathname = `/${new Client({ connectionString: target }).database}`;
  return {
    url: address.href,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      // A session that is being opened would outlive the pooler and end with an error when its database is dropped.
      await Promise.all(opening);
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Logs in with the driver and then takes over its socket. */
async function connectSession(target: string): Promise<Socket> {
  const client = new Client({ connectionString: target }) as Client & { connection: { stream: Socket } };
  client.on('error', () => {});
  await client.connect();
  const { stream } = client.connection;
  stream.removeAllListeners('data');
  return stream;
}

function answerStartup(socket: Socket, { body }: Message): void {
  // The protocol version is followed by alternating names and values.
  const names = body
    .toString('utf8', 4)
    .split('\0')
    .filter((_, at) => at % 2 === 0);
  const unknown = names.find((name) => name !== '' && !STARTUP_PARAMETERS.has(name));
  if (unknown === undefined) {
    socket.write(Buffer.concat([frame('R', Buffer.alloc(4)), frame('Z', Buffer.from('I'))]));
    return;
  }
  const text = `SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: ${unknown}\0\0`;
  socket.end(frame('E', Buffer.from(text)));
}

function frame(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type, 'latin1');
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
