/** Reproducible random numbers: the same seed gives the same sequence. */
export interface Dice {
  /** Returns a number in [0, 1). */
  next(): number;
  /** Returns true with this probability. */
  chance(part: number): boolean;
  /** Returns an integer in [0, below). */
  number(below: number): number;
  pick<T>(from: readonly T[]): T;
}

/** Mulberry32: small, and random enough for tests. */
export function createDice(seed: number): Dice {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const number = (below: number): number => Math.floor(next() * below);
  return {
    next,
    number,
    chance: (part) => next() < part,
    pick: (from) => {
      const found = from[number(from.length)];
      if (found === undefined) throw new Error('nothing to pick from');
      return found;
    },
  };
}
