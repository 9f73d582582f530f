import { loadavg } from 'node:os';
import type { machineFacts } from '../catalog/report.ts';
import type { CheckOutcome, Times } from './measure-checks.ts';
import type { KindOutcome } from './measure-likeness.ts';

export interface Outcome {
  listings: number;
  seed: number;
  machine: ReturnType<typeof machineFacts>;
  /** Load average over the last minute of the timing. If it exceeds the number of cores, other programs ran too. */
  load: number;
  /** Size of the fingerprint table, and of its index over the bands. */
  size_mb: { table: number; index: number } | null;
  checks: readonly CheckOutcome[];
  kinds: readonly KindOutcome[];
  seconds: number;
}

export const loadNow = (): number => loadavg()[0] ?? 0;

export function reportText(outcome: Outcome): string {
  const { machine, size_mb: size } = outcome;
  return `${[
    `${outcome.listings} listings (seed ${outcome.seed}); ${machine.cores} cores (${machine.cpu}), ${machine.memory_gib} GiB, node ${machine.node}; load ${outcome.load.toFixed(1)}`,
    ...(size === null ? [] : [`shapes ${size.table.toFixed(0)} MB, their index ${size.index.toFixed(0)} MB`]),
    '',
    ...(outcome.checks.length === 0 ? [] : [...checkLines(outcome.checks), '']),
    ...kindLines(outcome.kinds),
    '',
    ...truthLines(outcome.kinds),
    '',
    `${outcome.seconds.toFixed(0)} s in all`,
  ].join('\n')}\n`;
}

function checkLines(checks: readonly CheckOutcome[]): string[] {
  return [
    'ms: p50 / p99 / max                                 probes  refused   whole look             shape alone            select 1',
    ...checks.map(
      ({ kind, probes, refused, whole, shape, round_trip: trip }) =>
        `${kind.padEnd(50)}${String(probes).padStart(8)}${String(refused).padStart(9)}   ${timesText(whole)}${timesText(shape)}${timesText(trip)}`,
    ),
  ];
}

function timesText({ p50_ms, p99_ms, max_ms }: Times): string {
  return [p50_ms, p99_ms, max_ms]
    .map((ms) => ms.toFixed(2))
    .join(' / ')
    .padEnd(23);
}

function kindLines(kinds: readonly KindOutcome[]): string[] {
  return [
    'pairs                                              likeness   refused   at 0.9 or above, refused   below, refused',
    ...kinds.map(
      ({ kind, likeness, pairs, refused, near, apart }) =>
        `${kind.padEnd(50)}${likeness.toFixed(3).padStart(9)}${formatShare(refused, pairs).padStart(10)}${`${near.pairs}: ${formatShare(near.refused, near.pairs)}`.padStart(27)}${`${apart.pairs}: ${formatShare(apart.refused, apart.pairs)}`.padStart(17)}`,
    ),
  ];
}

/** Returns totals over all pairs. They say little on their own, because the mix of kinds is a choice. */
function truthLines(kinds: readonly KindOutcome[]): string[] {
  const sum = (of: (kind: KindOutcome) => number): number => kinds.reduce((all, kind) => all + of(kind), 0);
  const refused = sum((kind) => kind.refused);
  const near = sum((kind) => kind.near.refused);
  const copies = sum((kind) => (kind.isCopy ? kind.refused : 0));
  return [
    `where "likeness is 0.9 or above" is the truth: precision ${formatShare(near, refused)}, recall ${formatShare(
      near,
      sum((kind) => kind.near.pairs),
    )}`,
    `where "is an edited copy" is the truth: precision ${formatShare(copies, refused)}, recall ${formatShare(
      copies,
      sum((kind) => (kind.isCopy ? kind.pairs : 0)),
    )}`,
  ];
}

function formatShare(part: number, whole: number): string {
  return whole === 0 ? '-' : `${((100 * part) / whole).toFixed(part === whole || part === 0 ? 0 : 2)} %`;
}
