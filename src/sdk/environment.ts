/** Network, clock and randomness of the client; replaceable in tests and other runtimes. */
export interface Environment {
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** Milliseconds since 1970, UTC. */
  now(): number;
  /** Rejects with the signal's reason if it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Must be cryptographically secure, because it makes nonces. */
  randomBytes(count: number): Uint8Array;
  /** Returns a signal that aborts after `ms` milliseconds. */
  deadline(ms: number): AbortSignal;
}

export const systemEnvironment: Environment = {
  fetch: (url, init) => fetch(url, init),
  now: () => Date.now(),
  sleep,
  randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
  deadline: (ms) => AbortSignal.timeout(ms),
};

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted === true) stop();
  });
}
