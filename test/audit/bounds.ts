import { getHeapStatistics } from 'node:v8';

/** A bound of the audit's own was met. It has shown nothing then; the message says which bound, and what to do. */
export class BoundMet extends Error {
  override readonly name = 'BoundMet';
}

/** The number of events, fees or listings that are read, unless the caller says otherwise. */
export const MOST_ROWS = 1_000_000;

/** Faults that are named. More say nothing new. */
const MOST_FAULTS = 500;

/** Faults as they are found; the first ones are kept, the others counted. */
export interface Faults {
  add(found: readonly string[]): void;
  /** However many there are. */
  count(): number;
  list(): string[];
}

export function createFaults(): Faults {
  const kept: string[] = [];
  let count = 0;
  return {
    add: (found) => {
      count += found.length;
      if (kept.length < MOST_FAULTS) kept.push(...found.slice(0, MOST_FAULTS - kept.length));
    },
    count: () => count,
    list: () => (count > kept.length ? [...kept, `and ${count - kept.length} more faults`] : [...kept]),
  };
}

const FULL = 0.9;

/** Asked after each part that is read: an audit that runs out of memory would end without a word. */
export function mustHaveMemory(): void {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
  if (used < FULL * limit) return;
  const mib = Math.round(limit / 1_048_576);
  throw new BoundMet(
    `the ${mib} MiB of memory that Node.js takes are full. Give it more: NODE_OPTIONS=--max-old-space-size=${mib * 2}`,
  );
}

/**
 * The text of an answer of at most so many bytes, counted after decompression and while they come, so that an endless answer and one that
 * was packed small cost no more than that.
 */
export async function readText(answer: Response, most: number, name: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop cancels the answer.
  for await (const chunk of answer.body ?? []) {
    size += chunk.byteLength;
    if (size > most)
      throw new BoundMet(
        `${name} answers with more than ${most} bytes, and an honest answer has fewer. Ask who runs it`,
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size).toString('utf8');
}
