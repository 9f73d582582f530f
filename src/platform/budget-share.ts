import { Refusal, type RefusalOptions } from './refusal.ts';

/** Divisor: one quarter of a budget is reserved for newcomers. */
const NEWCOMER_DIVISOR = 4;
/** Divisor: one supernet may use an eighth of the reserved part. */
const SUPERNET_PART = 8;
/** Divisor: one site may use a quarter of its supernet's share. */
const SITE_PART = 4;
/** The reserved part is released in this many steps, so that the fastest clients cannot take all of it when the window begins. */
export const SLOTS = 30;

/** A budget that all clients share within a window. */
export interface Share {
  limit: number;
  windowMs: number;
  /** A network that has used less than this in the window is a newcomer. */
  newcomerUnits: number;
}

/** Units used so far in this window. Supernet, site and network are those of the requesting client. */
export interface ShareUse {
  /** Units used of the part that anybody may use. */
  open: number;
  kept: number;
  network: number;
  siteKept: number;
  supernetKept: number;
  /** Number of supernets that asked for the reserved part in this step or in the previous one, whichever number is larger. */
  supernetsAsking: number;
  asksOfSupernet: number;
}

export interface ShareRequest {
  units: number;
  /** Time since the window began. */
  elapsedMs: number;
}

/** The part of the budget that serves the request, or the time to retry. */
export type ShareVerdict = { part: 'open' | 'kept' } | { part: null; retryAfterMs: number };

export function slotMs({ windowMs }: Pick<Share, 'windowMs'>): number {
  return windowMs / SLOTS;
}

/** Units reserved for newcomers. 0 if the budget is too small to divide. */
export function unitsForNewcomers(limit: number): number {
  return Math.floor(limit / NEWCOMER_DIVISOR);
}

/** True if only the reserved part can serve this request. The caller then counts the request for the lottery. */
export function needsNewcomerPart(share: Share, use: ShareUse, { units }: ShareRequest): boolean {
  return use.open + units > share.limit - unitsForNewcomers(share.limit);
}

/**
 * Serves most of a budget first come, first served. The rest is reserved for newcomers, with limits for each site and supernet. If more
 * clients ask than units are free, a lottery gives each supernet the same chance. `draw` is uniform in [0, 1).
 */
export function judgeShare(share: Share, use: ShareUse, request: ShareRequest, draw: () => number): ShareVerdict {
  const { limit, windowMs, newcomerUnits } = share;
  const { units, elapsedMs } = request;
  if (!needsNewcomerPart(share, use, request)) return { part: 'open' };
  const atEnd = { part: null, retryAfterMs: windowMs - elapsedMs };
  const kept = unitsForNewcomers(limit);
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
