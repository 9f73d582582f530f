import type { Limits } from '../../../contract/vocabulary.ts';
import { createCounter } from '../../../platform/counter.ts';
import { networkLevels } from '../../../platform/http/client-network.ts';
import { type Random, randomFraction } from '../../../platform/random.ts';
import { Refusal } from '../../../platform/refusal.ts';

const FULL_RETRY_SECONDS = 30;
/** Share of the slots (one in this many) reserved for networks without a stream. */
const RESERVED_PART = 4;
/** Share of the reserved slots (one in this many) that one region may hold. */
const REGION_PART = 8;

export interface SlotOptions {
  most: number;
  mostPerNetwork: number;
  networksPerSite: number;
  random: Random;
}

export function slotOptions(limits: Limits, random: Random): SlotOptions {
  const { event_streams: most, event_streams_per_ip: mostPerNetwork, networks_per_site: networksPerSite } = limits;
  return { most, mostPerNetwork, networksPerSite, random };
}

/** A slot in use. */
interface Slot {
  network: string;
  site: string;
  region: string;
  isReserved: boolean;
  /** Ends the stream because another client took its slot. */
  endStream(): void;
}

/**
 * Limits the number of streams in total, per network and per site. Most slots are first come, first served; the rest is reserved for
 * networks without a stream, a few per region. If those are taken too, a newcomer may evict a random stream from a reserved slot of the
 * region that has most of them; the evicted client reconnects with its last id and misses nothing. The returned function takes a slot or
 * refuses, and returns the function that frees the slot.
 */
export function createSlots({ most, mostPerNetwork, networksPerSite, random }: SlotOptions) {
  const reserved = Math.floor(most / RESERVED_PART);
  const regionMost = Math.max(1, Math.floor(reserved / REGION_PART));
  const used = { network: createCounter(), site: createCounter(), reservedOfRegion: createCounter() };
  const reservedSlots = new Map<string, Set<Slot>>();
  let [openUsed, reservedUsed] = [0, 0];

  const countSlot = (slot: Slot, step: 1 | -1): void => {
    used.network.add(slot.network, step);
    used.site.add(slot.site, step);
    if (!slot.isReserved) {
      openUsed += step;
      return;
    }
    reservedUsed += step;
    used.reservedOfRegion.add(slot.region, step);
    const ofRegion = reservedSlots.get(slot.region) ?? new Set();
    if (step > 0) reservedSlots.set(slot.region, ofRegion.add(slot));
    else if (ofRegion.delete(slot) && ofRegion.size === 0) reservedSlots.delete(slot.region);
  };
  /** Picks a random reserved slot of the fullest region for eviction. Null if no region holds more than one. */
  const drawSlot = (): Slot | null => {
    const [fullest] = [...reservedSlots.values()].sort((a, b) => b.size - a.size);
    if (fullest === undefined || fullest.size < 2) return null;
    return [...fullest][Math.floor(randomFraction(random) * fullest.size)] ?? null;
  };
  const mayReserve = ({ network, region }: Slot): boolean =>
    used.network.of(network) === 0 && used.reservedOfRegion.of(region) < regionMost;

  return (network: string, endStream: () => void): (() => void) => {
    const { site, supernet: region } = networkLevels(network);
    const slot: Slot = { network, site, region, isReserved: openUsed >= most - reserved, endStream };
    if (used.network.of(network) >= mostPerNetwork || used.site.of(site) >= mostPerNetwork * networksPerSite) {
      throw tooManyOfNetwork(mostPerNetwork);
    }
    if (slot.isReserved && !mayReserve(slot)) throw noFreeSlot();
    if (slot.isReserved && reservedUsed >= reserved) {
      const drawn = drawSlot();
      if (drawn === null) throw noFreeSlot();
      countSlot(drawn, -1);
      drawn.endStream();
    }
    countSlot(slot, 1);
    let isHeld = true;
    return () => {
      // An evicted slot is already free.
      const isCounted = !slot.isReserved || reservedSlots.get(region)?.has(slot) === true;
      if (isHeld && isCounted) countSlot(slot, -1);
      isHeld = false;
    };
  };
}

function tooManyOfNetwork(limit: number): Refusal {
  return new Refusal('rate_limited', {
    detail: `At most ${limit} streams may be open from one network.`,
    retryAfterSeconds: FULL_RETRY_SECONDS,
    budget: 'event_streams_per_ip',
  });
}

function noFreeSlot(): Refusal {
  return new Refusal('unavailable', {
    detail: 'All streams the server offers are in use.',
    retryAfterSeconds: FULL_RETRY_SECONDS,
    budget: 'event_streams',
  });
}
