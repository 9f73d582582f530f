import type { Window } from './measure-window.ts';

const NAME = 26;
const COLUMN = 13;

export function windowRow({ name, seconds, blocks, market, facilitator, passes }: Window): string {
  return row(name, [
    seconds.toFixed(0),
    String(market.requests),
    ((10 * market.requests) / seconds).toFixed(2),
    (market.requests / blocks).toFixed(2),
    (market.calls / blocks).toFixed(1),
    (market.bytes / blocks / 1_024).toFixed(1),
    passes.medianMs.toFixed(0),
    passes.longestMs.toFixed(0),
    String(facilitator.requests),
  ]);
}

export function row(name: string, columns: readonly string[]): string {
  return name.padEnd(NAME) + columns.map((column) => column.padStart(COLUMN)).join('');
}
