import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Client } from 'pg';

export type Wire = 'database' | 'chain' | 'facilitator';

/** A moment on one of the connections between a market and its services. */
export interface Trap {
  wire: Wire;
  /** Part of a statement, name of a JSON-RPC method, or path of a facilitator. */
  mark: string;
  /**
   * `before` kills before the message is forwarded. `after` kills once the message took effect (a statement is then committed) but before
   * the market learns of it.
   */
  when: 'before' | 'after';
}

/** Decides whether a message springs the trap. */
export interface KillSwitch {
  arm(trap: Trap, kill: () => void): void;
  /** Returns when to kill if this is the armed message. Null otherwise. */
  meets(wire: Wire, text: string): Trap['when'] | null;
  /** Kills on the first call. Returns false if an earlier call already did. */
  spring(): boolean;
}

export function createKillSwitch(): KillSwitch {
  let armed: { trap: Trap; kill: () => void } | null = null;
  return {
    arm: (trap, kill) => {
      armed = { trap, kill };
    },
    meets: (wire, text) => {
      if (armed === null || armed.trap.wire !== wire || !text.includes(armed.trap.mark)) return null;
      return armed.trap.when;
    },
    spring: () => {
      if (armed === null) return false;
      const { kill } = armed;
      armed = null;
      kill();
      return true;
    },
  };
}

export interface Message {
  /** Type letter. Empty for the client's first message, which has none. */
  type: string;
  /** Complete message as received. */
  raw: Buffer;
  /** Payload without type letter and length. */
  body: Buffer;
}

/** Splits a stream into messages, across chunk boundaries. */
export function createCutter(from: 'client' | 'server'): (chunk: Buffer) => Message[] {
  let rest: Buffer = Buffer.alloc(0);
  let isFirst = from === 'client';
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const messages: Message[] = [];
    for (;;) {
      const head = isFirst ? 0 : 1;
      if (rest.length < head + 4) return messages;
      const length = head + rest.readUInt32BE(head);
      if (rest.length < length) return messages;
      const raw = rest.subarray(0, length);
      messages.push({ type: raw.toString('latin1', 0, head), raw, body: raw.subarray(head + 4) });
      rest = rest.subarray(length);
      isFirst = false;
    }
  };
}

/** Reads the statement that a message runs, looking up texts prepared earlier. Null for all other messages. */
function createStatementReader(): (message: Message) => string | null {
  const prepared = new Map<string, string>();
  return ({ type, body }) => {
    if (type === 'Q') return oneLine(textAt(body, 0).text);
    if (type !== 'P' && type !== 'B') return null;
    const first = textAt(body, 0);
    const second = textAt(body, first.end);
    if (type === 'B') return prepared.get(second.text) ?? null;
    prepared.set(first.text, oneLine(second.text));
    return null;
  };
}

const commandOf = ({ body }: Message): string => textAt(body, 0).text;

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

function textAt(body: Buffer, start: number): { text: string; end: number } {
  const end = body.indexOf(0, start);
  return { text: body.toString('utf8', start, end), end: end + 1 };
}

export interface KillPostgres {
  /** URL of the same database through this proxy. */
  url: string;
  /** Sends new connections to that server. */
  leadTo(url: string): void;
  cut(): void;
  close(): Promise<void>;
}

/** A proxy in front of PostgreSQL that springs the trap when its statement appears. */
export async function startKillPostgres(target: string, trap: KillSwitch): Promise<KillPostgres> {
  let current = new Client({ connectionString: target });
  const sockets = new Set<Socket>();
  // With Nagle's algorithm, each answer would wait for the previous acknowledgement.
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

/**
 * Watches one connection. A client sends its next batch only after the previous one was answered, so the next ReadyForQuery belongs to the
 * marked statement.
 */
function watch(near: Socket, far: Socket, trap: KillSwitch, cut: () => void): void {
  const cutClient = createCutter('client');
  const cutServer = createCutter('server');
  const statementOf = createStatementReader();
  /** Messages that the server sent since the mark, kept until its transaction ends. */
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

/** Whether the transaction that just ended was committed. */
function isCommitted(messages: readonly Message[]): boolean {
  if (messages.some(({ type }) => type === 'E')) return false;
  const last = messages.findLast(({ type }) => type === 'C');
  return last !== undefined && commandOf(last) !== 'ROLLBACK';
}
