import type { OnBytes } from '../agent/spend-options.ts';
import { own } from '../contract/own-words.ts';
import type { Cli } from './cli.ts';

/** Seconds between two lines, so that a log of a long transfer stays short. */
const EVERY_MS = 2_000;
const MEBIBYTE = 1_048_576;

/** Makes a listener that prints how far an upload or a download is. Goods that come at once print nothing. */
export function byteNotes({ note, now }: Pick<Cli, 'note' | 'now'>): OnBytes {
  let saidAt: number | null = null;
  return ({ way, done, bytes }) => {
    saidAt ??= now();
    const isDone = done === bytes;
    if (bytes < MEBIBYTE || (!isDone && now() - saidAt < EVERY_MS)) return;
    saidAt = now();
    const verb = way === 'upload' ? own`uploaded` : own`downloaded`;
    note(own`${verb} ${toMebibytes(done)} of ${toMebibytes(bytes)} MiB (${Math.floor((done / bytes) * 100)} %)`);
  };
}

function toMebibytes(bytes: number): number {
  return Math.round((bytes / MEBIBYTE) * 10) / 10;
}
