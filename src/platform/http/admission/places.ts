import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../clock.ts';
import { Refusal } from '../../refusal.ts';
import { networkLevels } from '../client-network.ts';
import * as bound from './bounds.ts';
import { bringsLongBody, showsCredential } from './read-head.ts';
import type { CountedRules } from './rules.ts';
import { createTally } from './tally.ts';

/** What one request holds until its answer is out. */
export interface Place {
  site: string;
  /** One of those that are kept for requests with a key, token or proof. */
  isKept: boolean;
  /** To be called once. */
  giveBack(): void;
}

export interface Places {
  taken(): number;
  /** Why this request gets no place now; null: it gets one. */
  judge(request: IncomingMessage): Refusal | null;
  take(request: IncomingMessage): Place;
  /** What came on a kept place was worth nothing: its network takes none for a while. */
  loseLane(site: string): void;
}

export interface PlacesOptions {
  total: number;
  clock: Clock;
  rules: CountedRules;
  clientOf(request: IncomingMessage): string;
}

const DETAILS = {
  server_full: 'The server has as many requests as it can take.',
  network_share: 'The server is busy, and this network has its share of requests under way.',
  address_share: 'The server is busy, and this address has its share of requests under way.',
  long_bodies: `Of bodies over ${bound.SHORT_BODY_BYTES} bytes as many are on their way as the server takes at once.`,
};
/** Networks are forgotten together when there are more. */
const MOST_LOST = 10_000;

/** Requests in flight: who holds how many, and who still gets one. */
export function createPlaces({ total, clock, rules, clientOf }: PlacesOptions): Places {
  const open = total - Math.floor(total / bound.KEPT_PART);
  const ofNetwork = bound.part(total, bound.NETWORK_PART);
  const ofAddress = bound.part(total, bound.ADDRESS_PART);
  const keptOfNetwork = bound.part(total - open, bound.NETWORK_PART);
  const bySite = createTally();
  const byAddress = createTally();
  const keptBySite = createTally();
  const lostUntil = new Map<string, number>();
  const longBodies = createLongBodies();
  let taken = 0;

  const refuse = (rule: keyof typeof DETAILS): Refusal => {
    rules.count(rule);
    const options = { detail: DETAILS[rule], retryAfterSeconds: bound.RETRY_SECONDS };
    return new Refusal(rule === 'server_full' ? 'unavailable' : 'rate_limited', options);
  };
  const hasLane = (request: IncomingMessage, site: string): boolean =>
    showsCredential(request) && keptBySite.of(site) < keptOfNetwork && (lostUntil.get(site) ?? 0) <= clock.now();
  const judgeBusy = (request: IncomingMessage): Refusal | null => {
    if (taken >= total) return refuse('server_full');
    const address = clientOf(request);
    const { site } = networkLevels(address);
    if (bySite.of(site) >= ofNetwork) return refuse('network_share');
    if (byAddress.of(address) >= ofAddress) return refuse('address_share');
    return taken < open || hasLane(request, site) ? null : refuse('server_full');
  };
  return {
    taken: () => taken,
    judge: (request) => {
      const refusal = taken * 2 > total || taken >= open ? judgeBusy(request) : null;
      if (refusal !== null || !bringsLongBody(request)) return refusal;
      return longBodies.hasRoom(networkLevels(clientOf(request)).site) ? null : refuse('long_bodies');
    },
    take: (request) => {
      const address = clientOf(request);
      const { site } = networkLevels(address);
      const isKept = taken >= open;
      const add = (by: 1 | -1): void => {
        taken += by;
        bySite.add(site, by);
        byAddress.add(address, by);
        if (isKept) keptBySite.add(site, by);
      };
      add(1);
      const isLong = bringsLongBody(request);
      if (isLong) longBodies.add(request, site);
      return {
        site,
        isKept,
        giveBack: () => {
          add(-1);
          if (isLong) longBodies.remove(request);
        },
      };
    },
    loseLane: (site) => {
      rules.count('lane_lost');
      if (lostUntil.size >= MOST_LOST) lostUntil.clear();
      lostUntil.set(site, clock.now() + bound.LANE_LOST_MS);
    },
  };
}

/** Bodies that may become long and are still on their way. Few, so they are counted by looking at each. */
function createLongBodies() {
  const sites = new Map<IncomingMessage, string>();
  return {
    hasRoom: (site: string): boolean => {
      const coming = [...sites].filter(([request]) => !request.complete);
      const own = coming.filter(([, other]) => other === site);
      return coming.length < bound.LONG_BODIES && own.length < bound.LONG_BODIES_PER_NETWORK;
    },
    add: (request: IncomingMessage, site: string): void => void sites.set(request, site),
    remove: (request: IncomingMessage): void => void sites.delete(request),
  };
}
