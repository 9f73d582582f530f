import { systemClock } from '../../src/platform/clock.ts';
import { diceFor } from './dice.ts';
import { mergeHistograms, quantileMs } from './histogram.ts';
import type { PageRequest } from './page-request.ts';
import { type ReadAlong, readAlong } from './read-along.ts';
import { type Recount, recount } from './recount.ts';
import type { Seeded } from './seed.ts';
import { CONNECTIONS, WARM_UP_SECONDS } from './settings.ts';
import { type LoadClient, medianOf, runSlice, type Slice, type Target } from './slice.ts';
import { type WritesAlone, writeAlone } from './write-alone.ts';
import { createWriteLoad, type WriteLoad, writeAtRate } from './write-at-rate.ts';
import type { Write } from './writers.ts';

export interface Round {
  reads_with: number;
  reads_without: number;
  ratio: number;
}

export interface WritesOutcome {
  rate: number;
  /** Requested reads per second. Null for as many as possible. */
  reads: number | null;
  reads_with: number;
  reads_without: number;
  /** Median of the ratios of adjacent slices. */
  ratio: number;
  rounds: readonly Round[];
  /**
   * The same for a static server on the market's core during the same writes. Writes cost it no work, so its loss shows what other
   * processes take on both cores.
   */
  fixed: { ratio: number; rounds: readonly Round[] };
  p99_with_ms: number;
  p99_without_ms: number;
  /** CPU milliseconds of the market per write while few clients read. Null if unknown on this system. */
  cpu_ms_per_write: number | null;
  /** Shares of one core used by the market during writes, and by everything but market and reader (database and writer). */
  market_share: number;
  other_share: number;
  written_per_second: number;
  write_p99_ms: Record<string, number>;
  answers: Record<string, number>;
  pages_checked: number;
  walks_checked: number;
  totals_checked: number;
  rows_checked: number;
  faults: readonly string[];
}

export interface WritesOrder {
  client: LoadClient;
  market: Target;
  /** The static server for these requests. */
  fixed: Target;
  writesTo: string;
  databaseUrl: string;
  seeded: Seeded;
  requests: readonly PageRequest[];
  rate: number;
  /** Requested reads per second. Null for as many as possible. */
  reads: number | null;
  seconds: number;
  next: () => Write;
  tell(line: string): void;
}

/** Longer than other slices, because single writes are rare. */
const SLICE_SECONDS = 1.5;
/** Time until code that runs two hundred times a second is compiled. A market that has run for a minute has it compiled. */
const WRITING_WARM_UP_SECONDS = 15;
const ALONE_SECONDS = 8;
/** Longer than the quarter of a second within which every process has to show a change. */
const QUIET_MS = 400;

/**
 * Measures reads without and with writes in turn. After every third round and at the end, while nothing is written, a recount checks the
 * answers.
 */
export async function measureWrites(order: WritesOrder): Promise<WritesOutcome> {
  const { client, fixed, market, rate, requests, seeded, tell } = order;
  const load = createWriteLoad();
  const staticLoad = createWriteLoad();
  const slices: Slices = { with: [], without: [] };
  const fixedSlices: Slices = { with: [], without: [] };
  const counted: Recount[] = [];
  const offered = order.reads === null ? {} : { perSecond: order.reads };
  const read = (seconds: number, target = market): Promise<Slice> =>
    runSlice(client, target, { requests, status: 200, connections: CONNECTIONS, seconds, ...offered });
  const readWithWrites = async (seconds: number, counted: WriteLoad, target = market): Promise<Slice> => {
    const writes = writeAtRate(order.writesTo, rate, order.next, counted);
    try {
      return await read(seconds, target);
    } finally {
      await writes.stop();
    }
  };
  const along = readAlong(market.url, shelfPaths(requests), seeded);
  let writingMs = 0;
  let alone: WritesAlone | null = null;
  try {
    await read(WARM_UP_SECONDS);
    const warmUp = createWriteLoad();
    await readWithWrites(WRITING_WARM_UP_SECONDS, warmUp);
    load.faults.push(...warmUp.faults);
    alone = await writeAlone(order, ALONE_SECONDS);
    load.faults.push(...alone.faults);
    tell(`writes alone: ${alone.cpuMs?.toFixed(2) ?? '-'} ms of the market for each`);
    for (let round = 0; round < Math.max(2, Math.round(order.seconds * 2)); round += 1) {
      slices.without.push(await read(SLICE_SECONDS));
      const begin = performance.now();
      slices.with.push(await readWithWrites(SLICE_SECONDS, load));
      writingMs += performance.now() - begin;
      fixedSlices.without.push(await read(SLICE_SECONDS, fixed));
      fixedSlices.with.push(await readWithWrites(SLICE_SECONDS, staticLoad, fixed));
      await systemClock.sleep(QUIET_MS);
      if (round % 3 === 0)
        counted.push(
          await recount({ ...order, marketUrl: market.url, dice: diceFor(seeded.seed, `recount ${round}`) }),
        );
      tell(`round ${round + 1}: ${lastOf(slices)}; static ${lastOf(fixedSlices)}`);
    }
  } finally {
    await along.stop();
  }
  counted.push(await recount({ ...order, marketUrl: market.url, dice: diceFor(seeded.seed, 'last recount') }));
  load.faults.push(...staticLoad.faults);
  return outcomeOf(order, slices, load, {
    along,
    counted,
    writingMs,
    cpuMsPerWrite: alone?.cpuMs ?? null,
    fixedSlices,
  });
}

interface Slices {
  with: Slice[];
  without: Slice[];
}

function lastOf({ with: loaded, without }: Slices): string {
  return `${without.at(-1)?.perSecond.toFixed(0)}/s without, ${loaded.at(-1)?.perSecond.toFixed(0)}/s with writes`;
}

function roundsOf({ with: loaded, without }: Slices): Round[] {
  return loaded.map(({ perSecond }, index) => {
    const reads_without = without[index]?.perSecond ?? Number.NaN;
    return { reads_with: perSecond, reads_without, ratio: perSecond / reads_without };
  });
}

interface Measured {
  along: ReadAlong;
  counted: readonly Recount[];
  writingMs: number;
  cpuMsPerWrite: number | null;
  fixedSlices: Slices;
}

function outcomeOf(
  { rate, reads }: WritesOrder,
  slices: Slices,
  load: WriteLoad,
  { along, counted, writingMs, cpuMsPerWrite, fixedSlices }: Measured,
): WritesOutcome {
  const rounds = roundsOf(slices);
  const fixedRounds = roundsOf(fixedSlices);
  const p99 = (side: readonly Slice[]): number => quantileMs(mergeHistograms(side.map((one) => one.latencies)), 0.99);
  const sum = (value: (one: Recount) => number): number => counted.reduce((total, one) => total + value(one), 0);
  return {
    rate,
    reads,
    reads_with: medianOf(rounds.map(({ reads_with }) => reads_with)),
    reads_without: medianOf(rounds.map(({ reads_without }) => reads_without)),
    ratio: medianOf(rounds.map(({ ratio }) => ratio)),
    rounds,
    fixed: { ratio: medianOf(fixedRounds.map(({ ratio }) => ratio)), rounds: fixedRounds },
    p99_with_ms: p99(slices.with),
    p99_without_ms: p99(slices.without),
    cpu_ms_per_write: cpuMsPerWrite,
    market_share: medianOf(slices.with.map(({ serverShare }) => serverShare)),
    other_share: medianOf(slices.with.map(({ otherShare }) => otherShare)),
    written_per_second: load.written / (writingMs / 1_000),
    write_p99_ms: Object.fromEntries(
      [...load.latencies].map(([name, histogram]) => [name, quantileMs(histogram, 0.99)]),
    ),
    answers: load.answers,
    pages_checked: along.pages,
    walks_checked: along.walks,
    totals_checked: sum(({ totals }) => totals),
    rows_checked: sum(({ rows }) => rows),
    faults: [...load.faults, ...along.faults, ...counted.flatMap(({ faults }) => faults)],
  };
}

function shelfPaths(requests: readonly PageRequest[]): string[] {
  return requests.map(({ path }) => path).filter((path) => path.startsWith('/api/shelves'));
}
