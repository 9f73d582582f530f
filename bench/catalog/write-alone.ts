import { systemClock } from '../../src/platform/clock.ts';
import { cpuMs } from '../process-facts.ts';
import { mergeHistograms, quantileMs } from './histogram.ts';
import { medianOf, type Target } from './slice.ts';
import { createWriteLoad, writeAtRate } from './write-at-rate.ts';
import type { Write, Writers } from './writers.ts';

export interface WritesAlone {
  /** CPU milliseconds of the market per write. Null if unknown on this system. */
  cpuMs: number | null;
  p99Ms: number;
  answers: Readonly<Record<string, number>>;
  faults: readonly string[];
}

/** Figures of one kind of write without any reads. */
export interface KindOfWrite extends WritesAlone {
  name: string;
  slices: readonly number[];
}

/** Time until the code for this kind is compiled. */
const WARM_UP_SECONDS = 10;
const SLICE_SECONDS = 4;

/** Measures single writes. They cost more than during reads, because a sleeping process wakes up with cold caches. */
export async function writeAlone(
  { market, writesTo, rate, next }: { market: Target; writesTo: string; rate: number; next: () => Write },
  seconds: number,
): Promise<WritesAlone> {
  const load = createWriteLoad();
  const before = await cpuMs(market.pids);
  const writes = writeAtRate(writesTo, rate, next, load);
  await systemClock.sleep(seconds * 1_000);
  await writes.stop();
  const after = await cpuMs(market.pids);
  const isKnown = before !== null && after !== null && load.written > 0;
  return {
    cpuMs: isKnown ? (after - before) / load.written : null,
    p99Ms: quantileMs(mergeHistograms([...load.latencies.values()].map(({ counts }) => counts)), 0.99),
    answers: load.answers,
    faults: load.faults,
  };
}

/** Measures each kind in turn, in slices, and takes the median of its slices. */
export async function measureWriteKinds(
  names: readonly string[],
  writers: Writers,
  order: { market: Target; writesTo: string; rate: number; seconds: number; tell(line: string): void },
): Promise<KindOfWrite[]> {
  const kinds = names.map((name) => {
    const next = Object.entries(writers.of).find(([known]) => known === name)?.[1];
    if (next === undefined)
      throw new Error(`no such kind of write: ${name}. There are: ${Object.keys(writers.of).join('; ')}`);
    return { name, next, slices: [] as WritesAlone[] };
  });
  for (const { next } of kinds) await writeAlone({ ...order, next }, WARM_UP_SECONDS);
  for (let round = 0; round < Math.max(1, Math.round(order.seconds)); round += 1) {
    for (const { name, next, slices } of kinds) {
      const slice = await writeAlone({ ...order, next }, SLICE_SECONDS);
      slices.push(slice);
      order.tell(
        `${name}: ${slice.cpuMs?.toFixed(2) ?? '-'} ms of the market for each, p99 ${slice.p99Ms.toFixed(1)} ms`,
      );
    }
  }
  return kinds.map(({ name, slices }) => {
    const known = slices.flatMap(({ cpuMs: ms }) => (ms === null ? [] : [ms]));
    return {
      name,
      slices: known,
      cpuMs: known.length === 0 ? null : medianOf(known),
      p99Ms: medianOf(slices.map(({ p99Ms }) => p99Ms)),
      answers: slices.at(-1)?.answers ?? {},
      faults: slices.flatMap(({ faults }) => faults),
    };
  });
}
