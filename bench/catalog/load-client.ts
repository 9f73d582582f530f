import { serveOrders } from '../child.ts';
import { runConnection } from './connection.ts';
import { createHistogram, record } from './histogram.ts';
import { type PageRequest, requestText } from './page-request.ts';

/** Requests to send in turn, the number of connections, and the duration. */
export interface LoadOrder {
  url: string;
  requests: readonly PageRequest[];
  status: number;
  connections: number;
  seconds: number;
  /**
   * Total requests per second, started at fixed times and timed from when they were due. If omitted, each starts when the last is answered.
   */
  perSecond?: number;
}

export interface LoadAnswer {
  answered: number;
  seconds: number;
  bytes: number;
  /** CPU use of this process, as a share of one core. */
  share: number;
  latencies: number[];
}

async function load(order: LoadOrder): Promise<LoadAnswer> {
  const { hostname, port } = new URL(order.url);
  const requests = order.requests.map((request) => Buffer.from(requestText(order.url, request), 'latin1'));
  const histogram = createHistogram();
  const cpu = process.cpuUsage();
  const begin = performance.now();
  const end = begin + order.seconds * 1_000;
  let asked = 0;
  let answered = 0;
  let bytes = 0;
  const lane = (): Promise<void> => {
    /** Start time of the current request, or 0. */
    let since = 0;
    let place = 0;
    const take = (now: number): boolean => {
      since = order.perSecond === undefined ? now : begin + (asked * 1_000) / order.perSecond;
      if (since >= end) return false;
      place = asked % requests.length;
      asked += 1;
      return true;
    };
    return runConnection(hostname, Number(port), {
      next: () => {
        const now = performance.now();
        if (since === 0 && !take(now)) return null;
        return since > now ? since - now : (requests[place] ?? null);
      },
      answered: (status, size) => {
        if (status !== order.status) throw new Error(`answered ${status}: GET ${order.requests[place]?.path}`);
        record(histogram, (performance.now() - since) * 1_000);
        since = 0;
        answered += 1;
        bytes += size;
      },
    });
  };
  await Promise.all(Array.from({ length: order.connections }, lane));
  const seconds = (performance.now() - begin) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  const share = (user + system) / 1e6 / seconds;
  return { answered, seconds, bytes, share, latencies: [...histogram.counts] };
}

serveOrders(load);
