import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../clock.ts';
import { createCounter } from '../../counter.ts';
import { Refusal } from '../../refusal.ts';
import { hasPaymentHeader } from '../caller-headers.ts';
import { networkLevels } from '../client-network.ts';
import * as bound from './bounds.ts';
import type { Slot } from './connections.ts';

const DETAILS = {
  server_full: 'The server is handling as many requests as it can.',
  network_share: 'The server is busy, and this network already has its share of requests in progress.',
  address_share: 'The server is busy, and this address already has its share of requests in progress.',
  long_bodies: `The server is already receiving as many bodies over ${bound.SHORT_BODY_BYTES} bytes as it accepts at once.`,
};
/** With more suspended networks than this, all suspensions are cleared. */
const MAX_SUSPENDED = 10_000;

export interface SlotsOptions {
  total: number;
  clock: Clock;
  rules: bound.RuleCounts;
  clientOf(request: IncomingMessage): string;
}

/** Counts requests in flight by client, and decides who gets a slot. */
export function createSlots({ total, clock, rules, clientOf }: SlotsOptions) {
  const unreserved = total - Math.floor(total / bound.RESERVED_PART);
  const maxPerNetwork = bound.shareOf(total, bound.NETWORK_PART);
  const maxPerAddress = bound.shareOf(total, bound.ADDRESS_PART);
  const maxReservedPerNetwork = bound.shareOf(total - unreserved, bound.NETWORK_PART);
  const bySite = createCounter();
  const byAddress = createCounter();
  const reserved = createCounter();
  const suspended = new Map<string, number>();
  /** Sites of bodies that are or may become long and are still arriving. There are few, so a scan counts them. */
  const longBodies = new Map<IncomingMessage, string>();
  let taken = 0;

  const refuse = (rule: keyof typeof DETAILS): Refusal => {
    rules[rule] += 1;
    const options = { detail: DETAILS[rule], retryAfterSeconds: bound.RETRY_SECONDS };
    return new Refusal(rule === 'server_full' ? 'unavailable' : 'rate_limited', options);
  };
  const mayUseReserved = (request: IncomingMessage, site: string): boolean =>
    showsCredential(request) && reserved.of(site) < maxReservedPerNetwork && (suspended.get(site) ?? 0) <= clock.now();
  const judgeBusy = (request: IncomingMessage): Refusal | null => {
    if (taken >= total) return refuse('server_full');
    const address = clientOf(request);
    const { site } = networkLevels(address);
    if (bySite.of(site) >= maxPerNetwork) return refuse('network_share');
    if (byAddress.of(address) >= maxPerAddress) return refuse('address_share');
    return taken < unreserved || mayUseReserved(request, site) ? null : refuse('server_full');
  };
  const hasRoomForLong = (site: string): boolean => {
    const arriving = [...longBodies].filter(([{ complete }]) => !complete);
    const own = arriving.filter(([, other]) => other === site);
    return arriving.length < bound.LONG_BODIES && own.length < bound.LONG_BODIES_PER_NETWORK;
  };
  return {
    taken: () => taken,
    /** Returns the reason to give this request no slot, or null. */
    judge: (request: IncomingMessage): Refusal | null => {
      const refusal = taken * 2 > total || taken >= unreserved ? judgeBusy(request) : null;
      if (refusal !== null || !bringsLongBody(request)) return refusal;
      return hasRoomForLong(networkLevels(clientOf(request)).site) ? null : refuse('long_bodies');
    },
    take: (request: IncomingMessage): Slot => {
      const address = clientOf(request);
      const { site } = networkLevels(address);
      const isReserved = taken >= unreserved;
      const add = (by: 1 | -1): void => {
        taken += by;
        bySite.add(site, by);
        byAddress.add(address, by);
        if (isReserved) reserved.add(site, by);
      };
      add(1);
      if (bringsLongBody(request)) longBodies.set(request, site);
      return {
        site,
        isReserved,
        release: () => {
          add(-1);
          longBodies.delete(request);
        },
      };
    },
    /** Call after an invalid credential on a reserved slot. The network gets no reserved slot for a while. */
    suspendReserved: (site: string): void => {
      rules.lane_lost += 1;
      if (suspended.size >= MAX_SUSPENDED) suspended.clear();
      suspended.set(site, clock.now() + bound.RESERVED_SUSPENDED_MS);
    },
  };
}

/** Returns true if the head has a key, token or proof, valid or not. */
function showsCredential({ headers }: IncomingMessage): boolean {
  return headers.authorization !== undefined || hasPaymentHeader(headers);
}

function bringsLongBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  if (length !== undefined) return Number(length) > bound.SHORT_BODY_BYTES;
  return headers['transfer-encoding'] !== undefined;
}

/**
 * Returns true if the answer's status shows that the credential was invalid, or that the request arrived too slowly to prove that it is
 * valid.
 */
export function isCredentialRefused({ headers }: IncomingMessage, status: number): boolean {
  if (status === 401 || status === 408) return true;
  if (status === 404) return headers['x-delivery-token'] !== undefined;
  if (status === 409) return headers['x-download-token'] !== undefined;
  const hasProof = headers['x-payment'] !== undefined || headers['payment-signature'] !== undefined;
  return hasProof && (status === 400 || status === 402);
}
