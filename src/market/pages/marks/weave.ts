import { hash } from 'node:crypto';

/** A weaving draft, as a loom with four shafts is set up: which thread goes through which shaft, and what each row lifts. */
export interface Cloth {
  /** Threads in each direction. */
  size: number;
  /** For choices other than the cloth, such as its hue. */
  seed: number;
  /** The shaft of each warp thread. Those on one shaft look alike. */
  threading: readonly number[];
  /** The treadle of each row. Rows of one treadle look alike. */
  treadling: readonly number[];
  isLifted(treadle: number, shaft: number): boolean;
  /** Whether the warp thread there is of the second colour. */
  isSecondTone(column: number): boolean;
}

export const SHAFTS = 4;
/** Half of the cloth; the other half mirrors it. */
const HALF = 12;

/** Two of the four shafts each, which makes a cloth that holds. */
const LIFTS: readonly number[] = [0b0011, 0b0110, 0b1100, 0b1001, 0b0101, 0b1010];

/** The cloth of a name: the same for ever, and hardly ever that of another. */
export function weave(name: string): Cloth {
  const bytes = hash('sha256', `mark ${name}`, 'buffer');
  const byte = (at: number): number => bytes[at] ?? 0;
  const lifts = tieUp([byte(24), byte(25), byte(26), byte(27)]);
  const stripe = 1 + (byte(28) % 4);
  const offset = byte(29) % (2 * stripe);
  return {
    size: 2 * HALF,
    seed: byte(30) * 256 + byte(31),
    threading: walk(bytes, 0),
    treadling: walk(bytes, HALF),
    isLifted: (treadle, shaft) => (((lifts[treadle] ?? 0) >> shaft) & 1) === 1,
    isSecondTone: (column) => {
      const fromEdge = column < HALF ? column : 2 * HALF - 1 - column;
      return Math.floor((fromEdge + offset) / stripe) % 2 === 1;
    },
  };
}

/** Mostly to the next shaft, so that diagonals come about; sometimes back, so that they turn. The second half mirrors the first. */
function walk(bytes: Uint8Array, from: number): number[] {
  const steps = new Array<number>(2 * HALF);
  let shaft = (bytes[from] ?? 0) % SHAFTS;
  let direction = 1;
  for (let at = 0; at < HALF; at += 1) {
    steps[at] = shaft;
    steps[2 * HALF - 1 - at] = shaft;
    if ((bytes[from + at] ?? 0) % 5 === 0) direction = -direction;
    shaft = (shaft + direction + SHAFTS) % SHAFTS;
  }
  return steps;
}

/** Four different lifts in some order: then no two rows are the same, no two shafts move together, and none hangs loose. */
function tieUp(given: readonly number[]): readonly number[] {
  const left = [...LIFTS];
  return given.map((byte) => left.splice(byte % left.length, 1)[0] ?? 0);
}
