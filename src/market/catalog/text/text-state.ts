import { type ByteRuns, slabOf } from '../byte-runs.ts';
import type { StemTable } from './stem-table.ts';
import { decodeTokens } from './token-codec.ts';
import type { WaitingLevels } from './waiting-levels.ts';
import type { WordTable } from './word-table.ts';

/** What the parts of the text index share. */
export interface TextState {
  readonly words: WordTable;
  readonly stems: StemTable;
  /** Encoded tokens by listing. */
  readonly sequences: ByteRuns;
  readonly waiting: WaitingLevels;
  listings: number;
  /** No listing with a higher id was ever put. */
  highest: number;
}

let tokens = new Uint32Array(1024);

/** The tokens of a listing: an array that is used again by the next call. Only what lies before the `count` is of this listing. */
export interface ListingTokens {
  readonly tokens: Uint32Array;
  readonly count: number;
}

export function listingTokens({ sequences }: TextState, id: number): ListingTokens {
  const slab = slabOf(sequences, id);
  if (slab === null) return { tokens, count: 0 };
  const length = sequences.length[id] as number;
  if (tokens.length < length) tokens = new Uint32Array(length * 2);
  return { tokens, count: decodeTokens(slab.bytes, sequences.at[id] as number, length, tokens) };
}
