import { cpus } from 'node:os';
import type { Child } from '../child.ts';
import { cpuMs } from '../process-facts.ts';
import type { LoadAnswer, LoadOrder } from './load-client.ts';

export type LoadClient = Child<LoadOrder, LoadAnswer>;

/** A server and the processes that it consists of. */
export interface Target {
  url: string;
  pids: readonly number[];
}

/** What one server did in one stretch of time. */
export interface Slice {
  perSecond: number;
  latencies: readonly number[];
  bytesPerAnswer: number;
  /** Of a core. */
  clientShare: number;
  /** Of a core; null where the system does not say. */
  serverShare: number | null;
  /** Of one core, what other programs took, the market's database among them; null where the system does not say. */
  otherShare: number | null;
  /** Microseconds of computing that the server took for an answer. */
  cpuMicros: number | null;
}

export async function runSlice(client: LoadClient, target: Target, order: Omit<LoadOrder, 'url'>): Promise<Slice> {
  const [before, busyBefore] = [await cpuMs(target.pids), busyMs()];
  const answer = await client.ask({ ...order, url: target.url });
  const [after, busyAfter] = [await cpuMs(target.pids), busyMs()];
  const used = before === null || after === null ? null : after - before;
  return {
    perSecond: answer.answered / answer.seconds,
    latencies: answer.latencies,
    bytesPerAnswer: answer.bytes / answer.answered,
    clientShare: answer.share,
    serverShare: used === null ? null : used / 1_000 / answer.seconds,
    otherShare:
      used === null ? null : Math.max(0, (busyAfter - busyBefore - used) / 1_000 / answer.seconds - answer.share),
    cpuMicros: used === null ? null : (used * 1_000) / answer.answered,
  };
}

function busyMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
}

export function medianOf(values: readonly (number | null)[]): number {
  const sorted = values.filter((value) => value !== null).toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1] ?? Number.NaN, sorted[Math.floor(middle)] ?? Number.NaN];
  return (low + high) / 2;
}
