export interface Quota {
  /** As in OPENAISLE_LIMITS. */
  name: string;
  /** Whose calls are counted together: a client network, a merchant's id, or one word for everybody. */
  subject: string;
  limit: number;
  windowSeconds: number;
}

/** Windows are fixed: they begin at whole multiples of their length since 1970. */
export function windowAt(nowMs: number, windowSeconds: number): { start: Date; end: Date } {
  const lengthMs = windowSeconds * 1_000;
  const startMs = Math.floor(nowMs / lengthMs) * lengthMs;
  return { start: new Date(startMs), end: new Date(startMs + lengthMs) };
}
