import { Refusal, type RefusalOptions } from './refusal.ts';

/** Divisor: this part of a budget is kept for newcomers. */
const KEPT_PART = 4;
/** Divisor: one supernet's share of the kept part. */
const SUPERNET_PART = 8;
/** Divisor: one site's share of its supernet's. */
const SITE_PART = 4;
/** The kept part becomes available in this many steps, so that the fastest clients do not take all of it when the window begins. */
export const SLOTS = 30;

/** A budget that all clients share in a window. */
export interface Share {
  limit: number;
  windowMs: number;
  /** A network that has used less than this in the window is a newcomer. */
  newcomerUnits: number;
}

/** Units used so far. Supernet, site and network are the client's. */
export interface ShareUse {
  /** Units of the part that anybody may use. */
  open: number;
  kept: number;
  network: number;
  siteKept: number;
  supernetKept: number;
  /** Supernets that asked for the kept part in this step or the last, and how often this one asked. */
  supernetsAsking: number;
  asksOfSupernet: number;
}

export interface ShareRequest {
  units: number;
  /** Since the window began. */
  elapsedMs: number;
}

/** The part it comes from, or when to ask again. */
export type ShareVerdict = { part: 'open' | 'kept' } | { part: null; retryAfterMs: number };

export function slotMs({ windowMs }: Pick<Share, 'windowMs'>): number {
  return windowMs / SLOTS;
}

/** Units kept for newcomers; 0 if the budget is too small to divide. */
export function keptOf(limit: number): number {
  return Math.floor(limit / KEPT_PART);
}

/** True if only the kept part can serve this request. The caller then counts it as an ask. */
export function needsKept(share: Share, use: ShareUse, { units }: ShareRequest): boolean {
  return use.open + units > share.limit - keptOf(share.limit);
}

/**
 * Most of a budget is first come, first served. The rest is kept for newcomers, with a limit for each site and supernet. When more ask
 * than there is, it draws lots: each supernet has the same chance. `draw` is uniform in [0, 1).
 */
export function judgeShare(share: Share, use: ShareUse, request: ShareRequest, draw: () => number): ShareVerdict {
  const { limit, windowMs, newcomerUnits } = share;
  const { units, elapsedMs } = request;
  if (!needsKept(share, use, request)) return { part: 'open' };
  const atEnd = { part: null, retryAfterMs: windowMs - elapsedMs };
  const kept = keptOf(limit);
  const supernetMost = Math.max(newcomerUnits, Math.floor(kept / SUPERNET_PART));
  const siteMost = Math.max(newcomerUnits, Math.floor(supernetMost / SITE_PART));
  const isNewcomer = use.network + units <= newcomerUnits;
  const isWithin = use.siteKept + units <= siteMost && use.supernetKept + units <= supernetMost;
  if (!isNewcomer || !isWithin || use.kept + units > kept) return atEnd;
  const slot = slotMs(share);
  const slotsBegun = Math.floor(elapsedMs / slot) + 1;
  const free = (kept * Math.min(slotsBegun, SLOTS)) / SLOTS - use.kept;
  const asking = Math.max(1, use.supernetsAsking) * Math.max(1, use.asksOfSupernet);
  if (free >= units && draw() * asking < free / units) return { part: 'kept' };
  return { part: null, retryAfterMs: slotsBegun * slot - elapsedMs };
}

interface Spent {
  name: string;
  limit: number;
  windowSeconds: number;
  retryAfterMs: number;
  detail?: string;
}

/** Builds the refusal for every exhausted limit: it names the limit, for the caller and for the metrics. */
export function limitExceeded(
  { name, limit, windowSeconds, retryAfterMs, detail }: Spent,
  options: RefusalOptions = {},
): Refusal {
  const used = `${name}: the limit of ${limit} in ${windowSeconds} seconds is used up.`;
  return new Refusal('rate_limited', {
    ...options,
    detail: detail === undefined ? used : `${used} ${detail}`,
    retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1_000)),
    budget: name,
  });
}
