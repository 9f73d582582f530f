import type { Walk } from './walk-shelf.ts';

/** A weight is far below that, and never 0. Five of them in a number make the cursor of the longest query as short as it has to be. */
const WEIGHT = 512;
const PACKED = 5;

/** A walk as the numbers that its cursor holds. */
export function toPosition({ act, left, newest, leads, key, id, reach, weights }: Walk): number[] {
  return [act, left, newest, leads ? 1 : 0, key, id, reach, ...pack(weights)];
}

export function toWalk(position: readonly number[]): Walk {
  const [act = 0, left = 0, newest = 0, leads = 0, key = 0, id = 0, reach = 0, ...packed] = position;
  return { act, left, newest, leads: leads === 1, key, id, reach, weights: unpack(packed) };
}

function pack(weights: readonly number[]): number[] {
  const packed: number[] = [];
  for (let from = 0; from < weights.length; from += PACKED) {
    packed.push(weights.slice(from, from + PACKED).reduceRight((sum, weight) => sum * WEIGHT + weight, 0));
  }
  return packed;
}

function unpack(packed: readonly number[]): number[] {
  const weights: number[] = [];
  for (const some of packed) {
    for (let rest = some; rest > 0; rest = Math.floor(rest / WEIGHT)) weights.push(rest % WEIGHT);
  }
  return weights;
}
