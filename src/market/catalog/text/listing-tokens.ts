import { hasSequence, slabAt } from './sequences.ts';
import type { TextState } from './text-state.ts';
import { decodeTokens } from './token-codec.ts';

let tokens = new Uint32Array(1024);

/** The tokens of a listing: an array that is used again by the next call. Only what lies before the `count` is of this listing. */
export interface ListingTokens {
  readonly tokens: Uint32Array;
  readonly count: number;
}

const result: { tokens: Uint32Array; count: number } = { tokens, count: 0 };

export function listingTokens(state: TextState, id: number): ListingTokens {
  const { sequences } = state;
  result.count = 0;
  if (!hasSequence(sequences, id)) return result;
  const length = sequences.lengthOf[id] as number;
  if (tokens.length < length) tokens = new Uint32Array(length * 2);
  result.tokens = tokens;
  result.count = decodeTokens(slabAt(sequences, id), sequences.placeOf[id] as number, length, tokens);
  return result;
}
