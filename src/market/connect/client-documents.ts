import { OutboundFailure, type PublicFetch, readPublicJson } from '../../platform/http/outbound-requests.ts';
import type { Market } from '../context.ts';

/** Documents of clients at addresses of theirs, and the keys of those that sign. */
export interface Documents {
  /** Whether it would be read from a copy, or refused for what happened a moment ago. */
  isCached(url: string): boolean;
  /** Throws an OutboundFailure. */
  read(url: string): Promise<unknown>;
}

const FRESH_MS = 3_600_000;
/** A key may be replaced in a hurry. */
const KEYS_FRESH_MS = 300_000;
/** While its host gives nothing, the last copy does. */
const STALE_MS = 86_400_000;
/** One that failed is not asked again at once: an authorization looks for its client more than once. */
const FAILED_MS = 10_000;
const MOST = 200;

interface Copy {
  value: unknown;
  readAt: number;
}

export function createDocuments({ clock, log }: Pick<Market, 'clock' | 'log'>, fetchPublic: PublicFetch): Documents {
  const copies = new Map<string, Copy>();
  const failures = new Map<string, { failure: OutboundFailure; at: number }>();
  const pending = new Map<string, Promise<unknown>>();

  const freshCopy = (url: string): Copy | null => {
    const copy = copies.get(url);
    return copy !== undefined && clock.now() - copy.readAt < freshMs(copy.value) ? copy : null;
  };
  const freshFailure = (url: string): OutboundFailure | null => {
    const failed = failures.get(url);
    return failed !== undefined && clock.now() - failed.at < FAILED_MS ? failed.failure : null;
  };
  const refetch = async (url: string): Promise<unknown> => {
    try {
      const value = await readPublicJson(url, fetchPublic);
      keep(copies, url, { value, readAt: clock.now() });
      failures.delete(url);
      return value;
    } catch (error) {
      if (!(error instanceof OutboundFailure)) throw error;
      log.warn('client_document_not_read', { why: error.why, host: URL.parse(url)?.hostname });
      keep(failures, url, { failure: error, at: clock.now() });
      return staleCopy(url, error);
    }
  };
  const staleCopy = (url: string, failure: OutboundFailure): unknown => {
    const copy = copies.get(url);
    if (copy === undefined || clock.now() - copy.readAt >= STALE_MS) throw failure;
    return copy.value;
  };

  return {
    isCached: (url) => freshCopy(url) !== null || freshFailure(url) !== null,
    read: async (url) => {
      const fresh = freshCopy(url);
      if (fresh !== null) {
        // What is used stays longest.
        keep(copies, url, fresh);
        return fresh.value;
      }
      const failure = freshFailure(url);
      if (failure !== null) return staleCopy(url, failure);
      const underWay = pending.get(url);
      if (underWay !== undefined) return await underWay;
      const asking = refetch(url).finally(() => pending.delete(url));
      pending.set(url, asking);
      return await asking;
    },
  };
}

function freshMs(value: unknown): number {
  return typeof value === 'object' && value !== null && 'keys' in value ? KEYS_FRESH_MS : FRESH_MS;
}

/** At the end; the one that was not asked for longest makes room. */
function keep<Value>(map: Map<string, Value>, url: string, value: Value): void {
  map.delete(url);
  map.set(url, value);
  const [oldest] = map.keys();
  if (map.size > MOST && oldest !== undefined) map.delete(oldest);
}
