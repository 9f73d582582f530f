import { sha256 } from '../../../platform/canonical-json.ts';

/** A weaving draft, as a loom with four shafts is set up: which thread goes through which shaft, and what each row lifts. */
export interface Cloth {
  /** Threads in each direction. */
  size: number;
  /** For choices beside the cloth. */
  seed: number;
  isWarpUp(column: number, row: number): boolean;
  /** Whether the warp thread there is of the second colour. */
  isSecondTone(column: number): boolean;
}

const SHAFTS = 4;
/** Half of the cloth; the other half mirrors it. */
const HALF = 12;

/** Two of the four shafts each, which makes a cloth that holds. */
const LIFTS: readonly number[] = [0b0011, 0b0110, 0b1100, 0b1001, 0b0101, 0b1010];

/** The cloth of a name: the same for ever, and hardly ever that of another. */
export function weave(name: string): Cloth {
  const bytes = sha256(`mark ${name}`);
  const byte = (at: number): number => bytes[at] ?? 0;
  const threading = mirrored(walk((at) => byte(at)));
  const treadling = mirrored(walk((at) => byte(at + HALF)));
  const lifts = tieUp([byte(24), byte(25), byte(26), byte(27)]);
  const stripes = mirrored(stripesOf(byte(28), byte(29)));
  return {
    size: 2 * HALF,
    seed: byte(30) * 256 + byte(31),
    isWarpUp: (column, row) => (((lifts[treadling[row] ?? 0] ?? 0) >> (threading[column] ?? 0)) & 1) === 1,
    isSecondTone: (column) => stripes[column] === 1,
  };
}

/** Mostly to the next shaft, so that diagonals come about; sometimes back, so that they turn. */
function walk(byteAt: (at: number) => number): number[] {
  const steps: number[] = [];
  let shaft = byteAt(0) % SHAFTS;
  let direction = 1;
  for (let at = 0; at < HALF; at += 1) {
    steps.push(shaft);
    if (byteAt(at) % 5 === 0) direction = -direction;
    shaft = (shaft + direction + SHAFTS) % SHAFTS;
  }
  return steps;
}

/** Four different lifts in some order: then no two rows are the same, no two shafts move together, and none hangs loose. */
function tieUp(given: readonly number[]): readonly number[] {
  const left = [...LIFTS];
  return given.map((byte) => left.splice(byte % left.length, 1)[0] ?? 0);
}

function stripesOf(first: number, second: number): number[] {
  const width = 1 + (first % 4);
  const offset = second % (2 * width);
  return Array.from({ length: HALF }, (_, at) => Math.floor((at + offset) / width) % 2);
}

function mirrored(half: readonly number[]): number[] {
  return [...half, ...half.toReversed()];
}
