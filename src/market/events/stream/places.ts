import type { Limits } from '../../../contract/vocabulary.ts';
import { networkLevels } from '../../../platform/http/client-network.ts';
import { drawOf, type Random } from '../../../platform/random.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { createTally } from '../../../platform/tally.ts';

const FULL_RETRY_SECONDS = 30;
/** One slot in this many is reserved for networks without a stream. */
const KEPT_PART = 4;
/** One region may hold this fraction of the reserved slots. */
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

/** A slot in use. */
interface Holder {
  network: string;
  site: string;
  region: string;
  kept: boolean;
  /** Ends the stream: another client took its slot. */
  leave(): void;
}

/**
 * Limits the streams in all and per network and site. Most slots are first come, first served; the rest is reserved for networks without a
 * stream, a few per region. When those are full too, a newcomer may evict a random stream from the region that holds most: that client
 * reconnects with its last id and misses nothing. Refuses, or returns the function that frees the slot.
 */
export function createPlaces({ most, mostPerNetwork, networksPerSite, random }: PlacesOptions) {
  const kept = Math.floor(most / KEPT_PART);
  const regionMost = Math.max(1, Math.floor(kept / REGION_PART));
  const held = { network: createTally(), site: createTally(), keptRegion: createTally() };
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
  /** Picks a random reserved slot of the fullest region, to evict; null when no region holds more than one. */
  const drawHolder = (): Holder | null => {
    const [fullest] = [...keepers.values()].sort((a, b) => b.size - a.size);
    if (fullest === undefined || fullest.size < 2) return null;
    return [...fullest][Math.floor(drawOf(random) * fullest.size)] ?? null;
  };
  const mayKeep = ({ network, region }: Holder): boolean =>
    held.network.of(network) === 0 && held.keptRegion.of(region) < regionMost;

  return (network: string, leave: () => void): (() => void) => {
    const { site, region } = networkLevels(network);
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
      // An evicted slot is already free.
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
