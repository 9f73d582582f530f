import { type Environment, systemEnvironment } from '../../sdk/environment.ts';

export interface Heard {
  /** Before a request to buy: whether it only collects. */
  onAsked(isCollecting: boolean): void;
  /** Whether the market could be reached. */
  onHeard(isHeard: boolean): void;
}

/** The browser's own means. Requests carry no cookies and leave nothing in its cache, and waiting ends when the network comes back. */
export function createBrowserEnvironment({ onAsked, onHeard }: Heard): Partial<Environment> {
  return {
    fetch: async (url, init) => {
      if (init.method === 'POST') onAsked(typeof init.body === 'string' && init.body.includes('"collect":true'));
      try {
        const answer = await systemEnvironment.fetch(url, { ...init, credentials: 'omit', cache: 'no-store' });
        onHeard(true);
        return answer;
      } catch (error) {
        onHeard(false);
        throw error;
      }
    },
    sleep: async (ms, signal) => {
      const back = new AbortController();
      const wake = (): void => back.abort();
      window.addEventListener('online', wake, { once: true });
      try {
        await systemEnvironment.sleep(ms, signal === undefined ? back.signal : AbortSignal.any([back.signal, signal]));
      } catch (error) {
        if (signal?.aborted === true) throw error;
      } finally {
        window.removeEventListener('online', wake);
      }
    },
  };
}
