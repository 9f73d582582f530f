import { connect } from 'node:net';

/** Whether a process listens at the local socket of that name. */
export function isListening(name: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path: name });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** Ctrl-C once: what is under way is ended in order. Twice: the process ends. */
export function interruptionOf(process: Pick<NodeJS.Process, 'once'>): AbortSignal {
  const ending = new AbortController();
  process.once('SIGINT', () => ending.abort());
  return ending.signal;
}
