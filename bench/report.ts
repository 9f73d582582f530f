import { cpus, totalmem } from 'node:os';
import type { FreeSales } from './free-sales.ts';
import type { Purchases } from './measure-purchases.ts';
import type { Options } from './options.ts';
import type { ReadOutcome } from './reads.ts';
import { purchaseLines } from './report-purchases.ts';
import {
  BUYER_POLL_MS,
  BUYING_SECONDS,
  CHAIN_SETTINGS,
  FOREIGN_TRANSFERS,
  FREE_SALES,
  LEVELS,
  PAYERS,
  READ_CONNECTIONS,
} from './settings.ts';

export interface Outcome {
  machine: { cores: number; cpu: string; memory_gib: number; node: string; platform: string };
  settings: Record<string, unknown>;
  /** Null if not measured. */
  reads: ReadOutcome[] | null;
  free: FreeSales | null;
  purchases: Purchases | null;
  /** Log lines of market and facilitator above `info`. */
  complaints: string[];
  seconds: number;
}

export function machineFacts(): Outcome['machine'] {
  const cores = cpus();
  return {
    cores: cores.length,
    cpu: cores[0]?.model.trim() ?? 'unknown',
    memory_gib: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
  };
}

export function settingsOf(options: Options): Record<string, unknown> {
  return {
    rounds: options.rounds,
    listings: options.listings,
    seconds_per_slice: options.seconds,
    read_client: 'a raw keep-alive client of our own, in the process of the benchmark',
    read_connections: READ_CONNECTIONS,
    processes: 'every server, PostgreSQL, anvil and the meters each in its own',
    chain: { ...CHAIN_SETTINGS, foreign_transfers_per_block: FOREIGN_TRANSFERS },
    purchases_per_round: LEVELS.map(({ atOnce, purchases }) => `${purchases} at ${atOnce}`).join(', '),
    buying_seconds: BUYING_SECONDS,
    buyer_polls_every_ms: BUYER_POLL_MS,
    payers: PAYERS,
    transfers_per_round: LEVELS.map(({ atOnce, transfers }) => `${transfers} at ${atOnce}`).join(', '),
  };
}

export function reportText(outcome: Outcome): string {
  const { machine, reads, free, purchases, settings, complaints } = outcome;
  const lines = [
    `Machine   ${machine.cores} cores (${machine.cpu}), ${machine.memory_gib} GiB, node ${machine.node}, ${machine.platform}`,
    ...Object.entries(settings).map(([name, value]) => `          ${name}: ${inWords(value)}`),
    ...(reads === null ? [] : ['', ...readLines(reads, machine.cores)]),
    ...(free === null ? [] : ['', ...freeLines(free)]),
    ...(purchases === null ? [] : ['', ...purchaseLines(purchases)]),
    ...(complaints.length === 0 ? [] : ['', `Log lines above info: ${complaints.length}, the first of them:`]),
    ...complaints.slice(0, 5).map((line) => `          ${line}`),
    '',
    `${outcome.seconds.toFixed(0)} s in all. Compare ratios, not absolute numbers: bench/README.md`,
  ];
  return `${lines.join('\n')}\n`;
}

function readLines(reads: readonly ReadOutcome[], cores: number): string[] {
  return [
    `Reads     medians of interleaved rounds; shares are of one core of ${cores}`,
    ...reads.flatMap((read) => [
      `          ${read.route}, ${Math.round(read.bytesPerBody)} bytes an answer: ratio ${read.ratio.toFixed(3)}`,
      ...(['market', 'static'] as const).map((side) => {
        const { perSecond, clientShare, machineShare, rounds } = read[side];
        const shares = `client ${formatShare(clientShare)}, whole machine ${formatShare(machineShare)}`;
        const each = rounds.map((value) => value.toFixed(1)).join(', ');
        return `            ${side} ${String(Math.round(perSecond)).padStart(10)}/s   (${each})   ${shares}`;
      }),
    ]),
  ];
}

function freeLines({ one, many, ratio }: FreeSales): string[] {
  const rates = (values: readonly number[]): string => values.map((value) => value.toFixed(1)).join(', ');
  return [
    `Free      sales/s, ${FREE_SALES.atOnce} buyers at once: ratio of one listing to ${FREE_SALES.atOnce} sellers' ${ratio.toFixed(2)}`,
    `            one listing   ${rates(one)}`,
    `            many          ${rates(many)}`,
  ];
}

function inWords(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, part]) => `${name} ${String(part)}`)
    .join('; ');
}

function formatShare(value: number): string {
  return `${Math.round(value * 100)} %`;
}
