export interface Passes<T> {
  /** The result of a pass that began after this call: one that runs already may have looked too early. */
  fresh(): Promise<T>;
  /** Resolves when nothing runs and nothing waits; never rejects. */
  ended(): Promise<void>;
}

/** One pass at a time, and at most one that waits: whoever comes meanwhile shares it. Many callers cost two passes. */
export function createPasses<T>(pass: () => Promise<T>): Passes<T> {
  let running: Promise<T> | null = null;
  let next: Promise<T> | null = null;

  const launch = (): Promise<T> => {
    const launched = pass().finally(() => {
      if (running === launched) running = null;
    });
    running = launched;
    return launched;
  };

  return {
    fresh: () => {
      if (next !== null) return next;
      if (running === null) return launch();
      next = running
        .catch(() => {})
        .then(() => {
          next = null;
          return launch();
        });
      return next;
    },
    ended: async () => {
      await Promise.all([next?.catch(() => {}), running?.catch(() => {})]);
    },
  };
}
