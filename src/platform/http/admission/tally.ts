/** How many of something there are under each name. Names with none take no memory. */
export interface Tally {
  of(name: string): number;
  add(name: string, by: 1 | -1): void;
}

export function createTally(): Tally {
  const counts = new Map<string, number>();
  return {
    of: (name) => counts.get(name) ?? 0,
    add: (name, by) => {
      const count = (counts.get(name) ?? 0) + by;
      if (count > 0) counts.set(name, count);
      else counts.delete(name);
    },
  };
}
