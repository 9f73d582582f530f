/** What the client takes from its surroundings; a test or another runtime may hand in its own. */
export interface Environment {
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** Milliseconds since 1970, UTC. */
  now(): number;
  /** Resolves after that many milliseconds; rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** From a cryptographic source: nonces are made of them. */
  randomBytes(count: number): Uint8Array;
  /** Aborted after that many milliseconds. */
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
