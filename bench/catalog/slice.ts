import { cpus } from 'node:os';
import type { Child } from '../child.ts';
import { cpuMs } from '../process-facts.ts';
import type { LoadAnswer, LoadOrder } from './load-client.ts';

export type LoadClient = Child<LoadOrder, LoadAnswer>;

export interface Target {
  url: string;
  pids: readonly number[];
}

export interface Slice {
  perSecond: number;
  latencies: readonly number[];
  bytesPerAnswer: number;
  /** Share of one core. */
  clientShare: number;
  /** Share of one core. Null if unknown on this system. */
  serverShare: number | null;
  /** Share of one core used by other programs, including the market's database. Null if unknown on this system. */
  otherShare: number | null;
  /** CPU microseconds of the server per answer. */
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
