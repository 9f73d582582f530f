import { cpus, totalmem } from 'node:os';
import type { BuyOutcome } from './buys.ts';
import type { Options } from './options.ts';
import type { ReadOutcome } from './reads.ts';
import {
  BUYING_AT_ONCE,
  BUYING_SECONDS,
  CHAIN_SETTINGS,
  PAYERS,
  PURCHASES_PER_ROUND,
  READ_CONNECTIONS,
  ROUNDS,
  SENDERS,
  TRANSFERS_PER_ROUND,
} from './settings.ts';

export interface Outcome {
  machine: { cores: number; cpu: string; memory_gib: number; node: string; platform: string };
  settings: Record<string, unknown>;
  reads: ReadOutcome[];
  buys: BuyOutcome;
  /** Lines of market and facilitator above `info`. */
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
    rounds: ROUNDS,
    listings: options.listings,
    seconds_per_slice: options.seconds,
    read_client: 'a raw keep-alive client of our own, in the process of the benchmark',
    read_connections: READ_CONNECTIONS,
    processes: 'market, static server, facilitator, PostgreSQL and anvil each in its own',
    chain: { ...CHAIN_SETTINGS },
    purchases_per_round: `${PURCHASES_PER_ROUND}, or what is begun in ${BUYING_SECONDS} s`,
    buying_requests_at_once: BUYING_AT_ONCE,
    payers: PAYERS,
    transfers_per_round: TRANSFERS_PER_ROUND,
    transfer_senders: SENDERS,
  };
}

export function reportText(outcome: Outcome): string {
  const { machine, reads, buys, settings } = outcome;
  const { books } = buys;
  const answers = Object.entries(buys.answers).map(([name, count]) => `${name}: ${count}`);
  const lines = [
    `Machine   ${machine.cores} cores (${machine.cpu}), ${machine.memory_gib} GiB, node ${machine.node}, ${machine.platform}`,
    ...Object.entries(settings).map(([name, value]) => `          ${name}: ${inWords(value)}`),
    '',
    `Reads     medians of ${ROUNDS} interleaved rounds; shares are of one core of ${machine.cores}`,
    ...reads.flatMap((read) => [
      `          ${read.route}, ${Math.round(read.bytesPerBody)} bytes an answer: ratio ${read.ratio.toFixed(3)}`,
      ...(['market', 'static'] as const).map((side) => {
        const { perSecond, clientShare, machineShare, rounds: each } = read[side];
        const shares = `client ${share(clientShare)}, whole machine ${share(machineShare)}`;
        return `            ${side} ${whole(perSecond)}/s   (${rounds(each)})   ${shares}`;
      }),
    ]),
    '',
    `Buying    medians of ${ROUNDS} interleaved rounds`,
    `          whole purchases, first request to delivery   ${buys.purchases.perSecond.toFixed(1)}/s   (${rounds(buys.purchases.rounds)})`,
    `          the chain's own transfers, sent directly     ${buys.transfers.perSecond.toFixed(1)}/s   (${rounds(buys.transfers.rounds)})`,
    `          ratio                                        ${buys.ratio.toFixed(4)}`,
    `          first answer after ${ms(buys.firstAnswerMs)}; goods after ${ms(buys.deliveredMs)}`,
    `          answers: ${answers.join(', ')}`,
    `          books: ${books.delivered} of ${books.ordered} purchases delivered, ${books.paidOnce} of them paid exactly once on the chain (warm-up included)`,
    ...books.faults.map((fault) => `          WRONG: ${fault}`),
    ...(outcome.complaints.length === 0
      ? []
      : ['', `Log lines above info: ${outcome.complaints.length}, the first of them:`]),
    ...outcome.complaints.slice(0, 5).map((line) => `          ${line}`),
    '',
    `${outcome.seconds.toFixed(0)} s in all. Compare ratios, not absolute numbers: bench/README.md`,
  ];
  return `${lines.join('\n')}\n`;
}

function inWords(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, part]) => `${name} ${String(part)}`)
    .join('; ');
}

function whole(value: number): string {
  return String(Math.round(value)).padStart(10);
}

function share(value: number): string {
  return `${Math.round(value * 100)} %`;
}

function rounds(values: readonly number[]): string {
  return values.map((value) => value.toFixed(1)).join(', ');
}

function ms(spread: { median: number; worst: number }): string {
  return `${Math.round(spread.median)} ms (worst ${Math.round(spread.worst)})`;
}
