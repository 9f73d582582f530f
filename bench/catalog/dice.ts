/** Reproducible random numbers. A seed gives the same numbers on every machine. */
export interface Dice {
  /** Returns a uniform number in [0, 1). */
  share(): number;
  /** Returns a uniform integer in [0, below). */
  int(below: number): number;
  pick<T>(from: readonly T[]): T;
  hex(bytes: number): string;
}

/** Creates an sfc32 generator, warmed up until the seed's bits are mixed. */
export function createDice(seed: number): Dice {
  let [a, b, c, d] = [seed | 0, 0x9e3779b9 | 0, 0x243f6a88 | 0, 1];
  const next = (): number => {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return sum >>> 0;
  };
  for (let round = 0; round < 16; round += 1) next();
  const int = (below: number): number => Math.floor((next() / 2 ** 32) * below);
  return {
    share: () => next() / 2 ** 32,
    int,
    pick: (from) => {
      const one = from[int(from.length)];
      if (one === undefined) throw new Error('nothing to pick from');
      return one;
    },
    hex: (bytes) => {
      let text = '';
      while (text.length < bytes * 2) text += next().toString(16).padStart(8, '0');
      return text.slice(0, bytes * 2);
    },
  };
}

/** Creates a separate generator per purpose, so that more draws for one purpose do not change the others. */
export function diceFor(seed: number, purpose: string): Dice {
  let mixed = seed | 0;
  for (const character of purpose) mixed = (Math.imul(mixed, 31) + (character.codePointAt(0) ?? 0)) | 0;
  return createDice(mixed);
}

/** Draws rank 0, 1, 2 ... with weights 1, 1/2, 1/3 ... in constant time (Walker's alias method). */
export function createZipf(ranks: number, dice: Dice): () => number {
  const weights = Float64Array.from({ length: ranks }, (_, rank) => 1 / (rank + 1));
  return createWeighted(weights, dice);
}

/** Draws an index by its weight, in constant time. */
export function createWeighted(weights: Float64Array, dice: Dice): () => number {
  const { length } = weights;
  const mean = weights.reduce((sum, weight) => sum + weight, 0) / length;
  const keep = weights.map((weight) => weight / mean);
  const alias = new Uint32Array(length);
  const [small, large]: [number[], number[]] = [[], []];
  for (let index = 0; index < length; index += 1) ((keep[index] ?? 0) < 1 ? small : large).push(index);
  for (let low = small.pop(); low !== undefined; low = small.pop()) {
    const high = large.pop();
    if (high === undefined) {
      keep[low] = 1;
      continue;
    }
    alias[low] = high;
    const left = (keep[high] ?? 0) + (keep[low] ?? 0) - 1;
    keep[high] = left;
    (left < 1 ? small : large).push(high);
  }
  return () => {
    const index = dice.int(length);
    return dice.share() < (keep[index] ?? 1) ? index : (alias[index] ?? index);
  };
}
