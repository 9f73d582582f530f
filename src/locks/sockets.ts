import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { codeOf } from './lock-failure.ts';

export interface Listener {
  /** Also ends all connections. */
  close(): Promise<void>;
}

/** Further connections are closed at once. Normal use never reaches this number. */
const MAX_CONNECTIONS = 200;

/** Keeps connections open until `close`, or sends `text` and closes each one. Ignores all input. Throws errors of the system. */
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
  // Later errors concern single connections that could not be accepted.
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

/** Returns true if a process listens on the socket, or if we cannot tell. */
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

/** Waits until the holder closes the connection, as it does when it stops listening, or until the signal is aborted. Needs no polling. */
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
