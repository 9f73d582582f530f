import { randomBytes, randomInt, randomUUID } from 'node:crypto';

/** The servers' source of randomness, so that tests can pass a seeded one. */
export interface Random {
  bytes(count: number): Buffer;
  /** Returns a uniform integer in [0, below). */
  int(below: number): number;
  uuid(): string;
}

export const systemRandom: Random = {
  bytes: (count) => randomBytes(count),
  int: (below) => randomInt(below),
  uuid: () => randomUUID(),
};

const DRAWS = 2 ** 32;

/** Returns a uniform number in [0, 1). */
export function randomFraction(random: Pick<Random, 'int'>): number {
  return random.int(DRAWS) / DRAWS;
}
