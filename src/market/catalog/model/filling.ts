/** How far the JSON of a model's listings has been read, in the order of their ids; Infinity once nothing more will be. */
export interface Filling {
  upTo(): number;
  rise(upTo: number): void;
  /** Resolves as soon as more than these have their JSON, with how many. */
  past(id: number): Promise<number>;
}

export function createFilling(): Filling {
  let reached = 0;
  let next = Promise.withResolvers<void>();
  return {
    upTo: () => reached,
    rise: (upTo) => {
      reached = upTo;
      next.resolve();
      next = Promise.withResolvers();
    },
    past: async (id) => {
      while (reached <= id) await next.promise;
      return reached;
    },
  };
}
