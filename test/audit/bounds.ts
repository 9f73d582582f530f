import { getHeapStatistics } from 'node:v8';

/** The audit reached one of its own limits, so it has shown nothing. The message names the limit and what to do. */
export class BoundMet extends Error {
  override readonly name = 'BoundMet';
}

/** Default limit for events, fees and listings. */
export const MAX_ROWS = 1_000_000;

/** Number of faults listed one by one. The rest are only counted. */
const MAX_FAULTS = 500;

/** Collects faults: keeps the first ones and counts the others. */
export interface Faults {
  add(found: readonly string[]): void;
  /** Returns the number of all faults, including those that were not kept. */
  count(): number;
  list(): string[];
}

export function createFaults(): Faults {
  const kept: string[] = [];
  let count = 0;
  return {
    add: (found) => {
      count += found.length;
      if (kept.length < MAX_FAULTS) kept.push(...found.slice(0, MAX_FAULTS - kept.length));
    },
    count: () => count,
    list: () => (count > kept.length ? [...kept, `and ${count - kept.length} more faults`] : [...kept]),
  };
}

const FULL = 0.9;

/** Throws if memory is nearly full. Called after each part, because a process that runs out of memory dies without a message. */
export function mustHaveMemory(): void {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
  if (used < FULL * limit) return;
  const mib = Math.round(limit / 1_048_576);
  throw new BoundMet(
    `the ${mib} MiB of memory that Node.js takes are full. Give it more: NODE_OPTIONS=--max-old-space-size=${mib * 2}`,
  );
}

/**
 * Returns the text of an answer, or throws once it exceeds `most` bytes. Counts decompressed bytes as they arrive, so endless and highly
 * compressed answers cost no more.
 */
export async function readText(answer: Response, most: number, name: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop cancels the response.
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
