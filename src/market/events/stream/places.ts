import type { Limits } from '../../../contract/vocabulary.ts';
import { createCounter } from '../../../platform/counter.ts';
import { networkLevels } from '../../../platform/http/client-network.ts';
import { drawOf, type Random } from '../../../platform/random.ts';
import { Refusal } from '../../../platform/refusal.ts';

const FULL_RETRY_SECONDS = 30;
/** The part that is kept for networks that listen to nothing yet. */
const KEPT_PART = 4;
/** What one region may hold of the kept part. */
const REGION_PART = 8;

export interface PlacesOptions {
  most: number;
  mostPerNetwork: number;
  networksPerSite: number;
  random: Random;
}

export function placesOf(limits: Limits, random: Random): PlacesOptions {
  const { event_streams: most, event_streams_per_ip: mostPerNetwork, networks_per_site: networksPerSite } = limits;
  return { most, mostPerNetwork, networksPerSite, random };
}

/** A place that is held. */
interface Holder {
  network: string;
  site: string;
  region: string;
  kept: boolean;
  /** Ends what is held: another has drawn the place. */
  leave(): void;
}

/**
 * How many may listen, in all and from one network or site. Most places go to who comes first; the rest is kept for networks that have
 * none, a few for each region. When those are full as well, a newcomer may draw the place of one of the region that holds most of
 * them: the client that loses it comes back with its last id and has missed nothing. Refuses, or gives what gives the place back.
 */
export function createPlaces({ most, mostPerNetwork, networksPerSite, random }: PlacesOptions) {
  const kept = Math.floor(most / KEPT_PART);
  const regionMost = Math.max(1, Math.floor(kept / REGION_PART));
  const held = { network: createCounter(), site: createCounter(), keptRegion: createCounter() };
  const keepers = new Map<string, Set<Holder>>();
  let [open, keptNow] = [0, 0];

  const count = (holder: Holder, step: 1 | -1): void => {
    held.network.add(holder.network, step);
    held.site.add(holder.site, step);
    if (!holder.kept) {
      open += step;
      return;
    }
    keptNow += step;
    held.keptRegion.add(holder.region, step);
    const ofRegion = keepers.get(holder.region) ?? new Set();
    if (step > 0) keepers.set(holder.region, ofRegion.add(holder));
    else if (ofRegion.delete(holder) && ofRegion.size === 0) keepers.delete(holder.region);
  };
  /** A kept place of another client, drawn in the region that holds most; null where no region holds more than one. */
  const drawHolder = (): Holder | null => {
    const [fullest] = [...keepers.values()].sort((a, b) => b.size - a.size);
    if (fullest === undefined || fullest.size < 2) return null;
    return [...fullest][Math.floor(drawOf(random) * fullest.size)] ?? null;
  };
  const mayKeep = ({ network, region }: Holder): boolean =>
    held.network.of(network) === 0 && held.keptRegion.of(region) < regionMost;

  return (network: string, leave: () => void): (() => void) => {
    const { site, supernet: region } = networkLevels(network);
    const holder: Holder = { network, site, region, kept: open >= most - kept, leave };
    const own = { name: 'event_streams_per_ip', limit: mostPerNetwork };
    if (held.network.of(network) >= mostPerNetwork || held.site.of(site) >= mostPerNetwork * networksPerSite) {
      throw tooMany(own);
    }
    if (holder.kept && !mayKeep(holder)) throw full();
    if (holder.kept && keptNow >= kept) {
      const drawn = drawHolder();
      if (drawn === null) throw full();
      count(drawn, -1);
      drawn.leave();
    }
    count(holder, 1);
    let isHeld = true;
    return () => {
      // Given back already where another has drawn it.
      const isCounted = !holder.kept || keepers.get(region)?.has(holder) === true;
      if (isHeld && isCounted) count(holder, -1);
      isHeld = false;
    };
  };
}

function tooMany({ name, limit }: { name: string; limit: number }): Refusal {
  return new Refusal('rate_limited', {
    detail: `From one network ${limit} streams may be open.`,
    retryAfterSeconds: FULL_RETRY_SECONDS,
    budget: name,
  });
}

function full(): Refusal {
  return new Refusal('unavailable', {
    detail: 'As many streams are open as the server can take.',
    retryAfterSeconds: FULL_RETRY_SECONDS,
    budget: 'event_streams',
  });
}
