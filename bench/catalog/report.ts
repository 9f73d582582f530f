import { cpus, totalmem } from 'node:os';
import type { Row } from './measure-kind.ts';
import type { WorkersOutcome } from './measure-workers.ts';
import type { WritesOutcome } from './measure-writes.ts';
import { CONNECTIONS, SLICE_SECONDS } from './settings.ts';
import type { KindOfWrite } from './write-alone.ts';

export interface Start {
  shelves_s: number;
  text_s: number;
  rss_mb: number | null;
  peak_rss_mb: number | null;
}

export interface Outcome {
  listings: number;
  seed: number;
  machine: { cores: number; cpu: string; memory_gib: number; node: string; platform: string };
  /** True if server and client had a core each. */
  pinned: boolean;
  seconds_per_kind: number;
  load: { shelves_s: number; text_s: number };
  /** With --restart: the start before `load`, which had no saved text index. */
  unsaved_start: Start | null;
  /** With --restart: the start of `load`, once all JSON was read. */
  saved_start: Start | null;
  rss_mb: number | null;
  peak_rss_mb: number | null;
  rows: readonly Row[];
  writes: WritesOutcome | null;
  writeKinds: readonly KindOfWrite[];
  workers: WorkersOutcome | null;
  /** Lines of the market's log above `info`. */
  complaints: readonly string[];
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

export function reportText(outcome: Outcome): string {
  const { machine, load, rows } = outcome;
  const lines = [
    `${outcome.listings} listings (seed ${outcome.seed}); ${machine.cores} cores (${machine.cpu}), ${machine.memory_gib} GiB, node ${machine.node}`,
    `${CONNECTIONS} connections; slices of ${SLICE_SECONDS} s in turn, ${outcome.seconds_per_kind} s a side; ${
      outcome.pinned ? 'server and client on a core each' : 'no process is bound to a core'
    }`,
    `shelves after ${load.shelves_s.toFixed(1)} s, words after ${load.text_s.toFixed(1)} s; memory ${formatWhole(outcome.rss_mb)} MB, at most ${formatWhole(outcome.peak_rss_mb)} MB`,
    ...startLine('without', outcome.unsaved_start),
    ...startLine('with', outcome.saved_start),
    '',
    ...(rows.length === 0 ? [] : [...table(rows), '']),
    ...(outcome.writes === null ? [] : [...writesLines(outcome.writes), '']),
    ...outcome.writeKinds.map(writeKindLine),
    ...(outcome.workers === null ? [] : [...workersLines(outcome.workers), '']),
    ...complaintLines(outcome.complaints),
    `${outcome.seconds.toFixed(0)} s in all. Compare ratios, not absolute numbers: bench/catalog/README.md`,
  ];
  return `${lines.join('\n')}\n`;
}

function startLine(how: string, start: Start | null): string[] {
  if (start === null) return [];
  const { shelves_s, text_s, rss_mb, peak_rss_mb } = start;
  return [
    `a start ${how} a saved text index: shelves after ${shelves_s.toFixed(1)} s, words after ${text_s.toFixed(1)} s; memory ${formatWhole(rss_mb)} MB, at most ${formatWhole(peak_rss_mb)} MB`,
  ];
}

type Cell = (row: Row) => string;

const COLUMNS: readonly (readonly [string, Cell])[] = [
  ['page', ({ page }) => page],
  ['req/s', ({ rps }) => formatWhole(rps)],
  ['static', ({ static_rps }) => formatWhole(static_rps)],
  ['ratio', ({ ratio }) => ratio.toFixed(2)],
  ['p50 ms', ({ p50_ms }) => p50_ms.toFixed(2)],
  ['p99 ms', ({ p99_ms }) => p99_ms.toFixed(2)],
  ['static', ({ static_p99_ms }) => static_p99_ms.toFixed(2)],
  ['cpu us', ({ cpu_us }) => formatWhole(cpu_us)],
  ['static', ({ static_cpu_us }) => formatWhole(static_cpu_us)],
  ['ratio', ({ cpu_ratio }) => cpu_ratio?.toFixed(2) ?? '-'],
  ['by SQL', ({ sql_rps }) => (sql_rps === null ? '-' : sql_rps < 100 ? sql_rps.toFixed(1) : formatWhole(sql_rps))],
  ['kB', ({ bytes }) => (bytes / 1_000).toFixed(1)],
  ['asked', ({ requests }) => String(requests)],
  ['client', ({ client_share, static_client_share }) => `${percent(client_share)}/${percent(static_client_share)}`],
  ['others', ({ other_share }) => (other_share === null ? '-' : percent(other_share))],
  ['', ({ client_limited }) => (client_limited.length === 0 ? '' : `client limits ${client_limited.join(', ')}`)],
];

function table(rows: readonly Row[]): string[] {
  const cells = [COLUMNS.map(([title]) => title), ...rows.map((row) => COLUMNS.map(([, cell]) => cell(row)))];
  const widths = COLUMNS.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  return cells.map((line) =>
    line
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

function writesLines(writes: WritesOutcome): string[] {
  const made = Object.entries(writes.answers).map(([name, count]) => `${name} ${count}`);
  const late = Object.entries(writes.write_p99_ms).map(([name, ms]) => `${name} ${ms.toFixed(0)}`);
  return [
    ...(writes.reads === null ? [] : [`${writes.reads} reads/s asked for`]),
    `Reads with ${writes.rate} writes/s: ${formatWhole(writes.reads_with)}/s, without ${formatWhole(writes.reads_without)}/s: ratio ${writes.ratio.toFixed(2)} (${writes.rounds.map(({ ratio }) => ratio.toFixed(2)).join(', ')})`,
    `  a static server with the same writes: ratio ${writes.fixed.ratio.toFixed(2)} (${writes.fixed.rounds.map(({ ratio }) => ratio.toFixed(2)).join(', ')})`,
    `  p99 ${writes.p99_with_ms.toFixed(2)} ms with, ${writes.p99_without_ms.toFixed(2)} ms without; written ${writes.written_per_second.toFixed(0)}/s`,
    `  p99 of writes in ms: ${late.join(', ')}; the market took ${percent(writes.market_share)} of a core, database and writer ${percent(writes.other_share)}`,
    `  with hardly any reads a write took ${writes.cpu_ms_per_write?.toFixed(2) ?? '-'} ms of the market`,
    `  answers: ${made.join(', ')}`,
    `  checked: ${writes.pages_checked} pages under load, ${writes.walks_checked} walks, ${writes.totals_checked} totals and ${writes.rows_checked} rows at quiet points`,
    ...writes.faults.slice(0, 20).map((fault) => `  WRONG: ${fault}`),
  ];
}

function writeKindLine({ name, cpuMs, slices, p99Ms, answers, faults }: KindOfWrite): string {
  const each = slices.map((ms) => ms.toFixed(2)).join(', ');
  const wrong = faults.slice(0, 5).map((fault) => `\n  WRONG: ${fault}`);
  return `${name}: ${cpuMs?.toFixed(2) ?? '-'} ms of the market for each (${each}), p99 ${p99Ms.toFixed(1)} ms; ${JSON.stringify(answers)}${wrong.join('')}`;
}

function workersLines(workers: WorkersOutcome): string[] {
  return [
    `Requests/s of ${workers.workers} processes ${formatWhole(workers.many_rps)}, of one ${formatWhole(workers.one_rps)}: ratio ${workers.ratio.toFixed(2)} (${workers.ratios.map((ratio) => ratio.toFixed(2)).join(', ')})`,
    `  loaded after ${workers.load.shelves_s.toFixed(1)} s, words after ${workers.load.text_s.toFixed(1)} s; memory of all ${formatWhole(workers.rss_mb)} MB`,
  ];
}

function complaintLines(complaints: readonly string[]): string[] {
  if (complaints.length === 0) return [];
  return [`Log lines above info: ${complaints.length}, the first of them:`, ...complaints.slice(0, 5), ''];
}

function formatWhole(value: number | null): string {
  return value === null ? '-' : String(Math.round(value));
}

function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}
