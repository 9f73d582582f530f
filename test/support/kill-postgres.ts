import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Client } from 'pg';
import { commandOf, createCutter, createStatementReader, type Message } from './kill-messages.ts';
import type { KillSwitch } from './kill-switch.ts';

export interface KillPostgres {
  /** The same database, over this wire. */
  url: string;
  /** Which server stands behind it for connections to come. */
  leadTo(url: string): void;
  /** Ends the connections that there are. */
  cut(): void;
  close(): Promise<void>;
}

/** Stands between a market and PostgreSQL, and springs the trap when its statement comes by. */
export async function startKillPostgres(target: string, trap: KillSwitch): Promise<KillPostgres> {
  let current = new Client({ connectionString: target });
  const sockets = new Set<Socket>();
  // Without this each answer waits for the acknowledgement of the one before it.
  const server = createServer({ noDelay: true }, (near) => {
    const { host, port } = current;
    const far = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    const cut = (): void => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        cut();
        sockets.delete(socket);
      });
    }
    watch(near, far, trap, cut);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { user, password, database } = current;
  const address = new URL('postgresql://127.0.0.1');
  address.port = String((server.address() as AddressInfo).port);
  address.username = encodeURIComponent(user ?? '');
  address.password = encodeURIComponent(typeof password === 'string' ? password : '');
  address.pathname = `/${database}`;
  return {
    url: address.href,
    leadTo: (url) => {
      current = new Client({ connectionString: url });
    },
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** One connection. A client sends its next batch only when the last one is answered, so the next readiness is that of the mark's. */
function watch(near: Socket, far: Socket, trap: KillSwitch, cut: () => void): void {
  const cutClient = createCutter('client');
  const cutServer = createCutter('server');
  const statementOf = createStatementReader();
  /** What the server has said since the mark came by, until its transaction ends. */
  let held: Message[] | null = null;

  near.on('data', (chunk) => {
    far.cork();
    for (const message of cutClient(chunk)) {
      const statement = statementOf(message);
      const when = statement === null ? null : trap.meets('database', statement);
      if (when === 'before' && trap.spring()) {
        cut();
        return;
      }
      if (when === 'after') held ??= [];
      far.write(message.raw);
    }
    far.uncork();
  });
  far.on('data', (chunk) => {
    near.cork();
    for (const message of cutServer(chunk)) {
      if (held === null) {
        near.write(message.raw);
        continue;
      }
      held.push(message);
      if (message.type !== 'Z') continue;
      const hasEnded = message.body.toString('latin1') === 'I';
      if (hasEnded && isCommitted(held) && trap.spring()) {
        cut();
        return;
      }
      for (const one of held) near.write(one.raw);
      held = hasEnded ? null : [];
    }
    near.uncork();
  });
}

/** Whether the transaction that has just ended did not fail. */
function isCommitted(messages: readonly Message[]): boolean {
  if (messages.some(({ type }) => type === 'E')) return false;
  const last = messages.findLast(({ type }) => type === 'C');
  return last !== undefined && commandOf(last) !== 'ROLLBACK';
}
