import { connect } from 'node:net';

/** `held`: a process listens at the local socket. `stale`: its name is there, and none listens. `free`: neither. */
export type SocketState = 'held' | 'stale' | 'free';

export function lookAt(name: string): Promise<SocketState> {
  return new Promise((resolve) => {
    const socket = connect({ path: name });
    socket.once('connect', () => {
      socket.destroy();
      resolve('held');
    });
    socket.once('error', (error) => resolve(stateOf(error)));
  });
}

/**
 * Waits for the end of what listens there: of the process, or of its listening. `held`: the signal came first. It needs no looking
 * again and again: who listens keeps the connection open until its end, and the kernel closes it then.
 */
export function waitForEnd(name: string, until: AbortSignal): Promise<SocketState> {
  return new Promise((resolve) => {
    let state: SocketState = 'free';
    const socket = connect({ path: name });
    const stop = (): void => {
      state = 'held';
      socket.destroy();
    };
    until.addEventListener('abort', stop, { once: true });
    if (until.aborted) stop();
    socket.on('error', (error) => {
      state = stateOf(error);
    });
    socket.resume();
    socket.once('close', () => {
      until.removeEventListener('abort', stop);
      resolve(state);
    });
  });
}

function stateOf(error: Error): SocketState {
  return 'code' in error && error.code === 'ECONNREFUSED' ? 'stale' : 'free';
}
