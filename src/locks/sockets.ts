import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { codeOf } from './lock-failure.ts';

export interface Listener {
  /** Ends all connections too. */
  close(): Promise<void>;
}

/** More wait at the door of the system. Nobody has a reason to be here in such numbers. */
const MAX_CONNECTIONS = 200;

/** Listens at a name. A connection is kept open until the end, or told a text and closed. Nothing is read. Throws as the system does. */
export async function listenAt(path: string, text?: string): Promise<Listener> {
  const connections = new Set<Socket>();
  const server = createServer((socket) => {
    socket.unref();
    socket.on('error', () => {});
    socket.once('close', () => connections.delete(socket));
    connections.add(socket);
    if (text === undefined) socket.resume();
    else socket.end(text, () => socket.destroy());
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.unref();
  // Later ones are of single connections that could not be accepted.
  server.on('error', () => {});
  server.listen({ path, exclusive: true });
  await once(server, 'listening');
  return {
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of connections) socket.destroy();
      await closed;
    },
  };
}

/** Whether a process listens there. What cannot be told counts as one. */
export function isListenedAt(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error) => resolve(!['ECONNREFUSED', 'ENOENT'].includes(codeOf(error))));
  });
}

/**
 * Waits for the end of what listens there: of the process, or of its listening. It needs no looking again and again: who listens keeps
 * the connection open until its end, and the kernel closes it then.
 */
export function waitForEnd(path: string, until: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    const stop = (): void => {
      socket.destroy();
    };
    until.addEventListener('abort', stop, { once: true });
    if (until.aborted) stop();
    socket.on('error', () => {});
    socket.resume();
    socket.once('close', () => {
      until.removeEventListener('abort', stop);
      resolve();
    });
  });
}
