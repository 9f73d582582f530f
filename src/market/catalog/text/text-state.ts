import type { Sequences } from './sequences.ts';
import type { StemTable } from './stem-table.ts';
import type { WaitingLevels } from './waiting-levels.ts';
import type { WordTable } from './word-table.ts';

/** What the parts of the text index share. */
export interface TextState {
  readonly words: WordTable;
  readonly stems: StemTable;
  readonly sequences: Sequences;
  readonly waiting: WaitingLevels;
  listings: number;
  /** No listing with a higher id was ever put. */
  highest: number;
}
