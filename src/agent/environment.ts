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

/** Waits for the end of the process, or of its lock, that listens there. False when it did not listen, or the signal came first. */
export function holdUntilClosed(name: string, until: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path: name });
    let connected = false;
    const stop = (): void => {
      connected = false;
      socket.destroy();
    };
    until.addEventListener('abort', stop, { once: true });
    socket.once('connect', () => {
      connected = true;
      if (until.aborted) stop();
    });
    socket.on('error', () => {});
    socket.resume();
    socket.once('close', () => {
      until.removeEventListener('abort', stop);
      resolve(connected);
    });
  });
}
