import { Refusal, type RefusalOptions } from '../refusal.ts';

export interface Spent {
  /** As in the named limits. */
  name: string;
  limit: number;
  windowSeconds: number;
  retryAfterMs: number;
  /** More about it. */
  detail?: string;
}

/** The one refusal of everything that is counted: it names the limit, for the caller and for the metrics. */
export function exceeded(
  { name, limit, windowSeconds, retryAfterMs, detail }: Spent,
  options: RefusalOptions = {},
): Refusal {
  const used = `${name}: ${limit} in ${windowSeconds} seconds are used up.`;
  return new Refusal('rate_limited', {
    ...options,
    detail: detail === undefined ? used : `${used} ${detail}`,
    retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1_000)),
    budget: name,
  });
}
