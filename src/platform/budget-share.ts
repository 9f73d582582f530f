import { Refusal, type RefusalOptions } from './refusal.ts';

/** The part of a budget that is kept for networks that have not used theirs. */
const KEPT_PART = 4;
/** What one supernet may have of the kept part. */
const SUPERNET_PART = 8;
/** What one site may have of its supernet's. */
const SITE_PART = 4;
/** The kept part is released slot by slot: the quickest clients at the start of a window do not get all of it. */
export const SLOTS = 30;

/** What all together may use in a window. */
export interface Share {
  limit: number;
  windowMs: number;
  /** Who has used less than that in this window has not had its turn. */
  newcomerUnits: number;
}

/** How much of it is used. Supernet, site and network are those of who asks. */
export interface ShareUse {
  /** Of the part that goes to who comes first. */
  open: number;
  kept: number;
  network: number;
  siteKept: number;
  supernetKept: number;
  /** Supernets that asked for the kept part lately, and how often this one did. */
  supernetsAsking: number;
  asksOfSupernet: number;
}

export interface ShareRequest {
  units: number;
  /** Since the window began. */
  elapsedMs: number;
}

/** From which part it is taken, or when to ask again. */
export type ShareVerdict = { part: 'open' | 'kept' } | { part: null; retryAfterMs: number };

export function slotMs({ windowMs }: Pick<Share, 'windowMs'>): number {
  return windowMs / SLOTS;
}

/** A budget too small to be divided goes to who comes first. */
export function keptOf(limit: number): number {
  return Math.floor(limit / KEPT_PART);
}

/** Whether this one only gets something from the kept part; then it is counted as one that asks. */
export function needsKept(share: Share, use: ShareUse, { units }: ShareRequest): boolean {
  return use.open + units > share.limit - keptOf(share.limit);
}

/**
 * Most of a budget goes to who comes first. The rest is kept for networks that have not had their turn in this window, bounded for
 * each site and supernet; while more ask than there is, chance decides, and each supernet has the same chance. `draw` is uniform in
 * [0, 1).
 */
export function judgeShare(share: Share, use: ShareUse, asked: ShareRequest, draw: () => number): ShareVerdict {
  const { limit, windowMs, newcomerUnits } = share;
  const { units, elapsedMs } = asked;
  if (!needsKept(share, use, asked)) return { part: 'open' };
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
