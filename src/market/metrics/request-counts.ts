export interface RequestCounts {
  count(route: string, status: number): void;
  each(visit: (route: string, status: string, count: number) => void): void;
}

const STATUSES = 600;

/** A counter that a hot path can afford: one look-up and one addition, nothing allocated after the first. */
export function createRequestCounts(): RequestCounts {
  const byRoute = new Map<string, Float64Array>();

  return {
    count: (route, status) => {
      let counts = byRoute.get(route);
      if (counts === undefined) {
        counts = new Float64Array(STATUSES);
        byRoute.set(route, counts);
      }
      // One outside of the array is dropped: there is none.
      counts[status] = (counts[status] ?? 0) + 1;
    },
    each: (visit) => {
      for (const [route, counts] of byRoute) {
        for (let status = 0; status < STATUSES; status += 1) {
          const count = counts[status] ?? 0;
          if (count > 0) visit(route, status.toString(), count);
        }
      }
    },
  };
}
