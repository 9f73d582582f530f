import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Item } from './read-corpus.ts';

/** A need in somebody's words, with the ids of listings that meet it. */
export interface Need {
  q: string;
  right: ReadonlySet<number>;
  /** The very listings that the need was written for. */
  best: ReadonlySet<number>;
}

export interface Needs {
  needs: readonly Need[];
  /** Ids in the file that no item of the corpus has. */
  unknown: readonly string[];
}

const needsFile = z.object({
  needs: z
    .array(
      z.object({
        q: z.string().trim().min(1),
        right: z.array(z.string()).min(1),
        best: z.array(z.string()).default([]),
      }),
    )
    .min(1),
});

/** Reads the needs. Throws if a need has no right item in the corpus, because no engine could find one. */
export async function readNeeds(file: string, items: readonly Item[]): Promise<Needs> {
  const places = new Map(items.map(({ id }, index) => [id, index + 1]));
  const { needs } = needsFile.parse(JSON.parse(await readFile(file, 'utf8')));
  const unknown = new Set<string>();
  const placesOf = (ids: readonly string[]): Set<number> => {
    const found = new Set<number>();
    for (const id of ids) {
      const place = places.get(id);
      if (place === undefined) unknown.add(id);
      else found.add(place);
    }
    return found;
  };
  const read = needs.map(({ q, right, best }) => ({ q, right: placesOf([...right, ...best]), best: placesOf(best) }));
  const hopeless = read.filter(({ right }) => right.size === 0);
  if (hopeless.length > 0)
    throw new Error(`${hopeless.length} needs have no right item in the corpus, the first: ${hopeless[0]?.q}`);
  return { needs: read, unknown: [...unknown] };
}
