import type { CopiedEvent } from '../../platform/log-copy/log-copy.ts';

/** Kinds of ids in the log, by the table that issues them. */
export const LOGGED_IDS = {
  listings: 'listing_id',
  merchants: 'merchant_id',
  comments: 'comment_id',
  appeals: 'appeal_id',
  payments: 'payment_id',
} as const;
export type LoggedKind = keyof typeof LOGGED_IDS;

export interface LostListing {
  id: bigint;
  merchantId: bigint;
  /** 0x and hex digits; null if the log did not name it yet. */
  payee: string | null;
  commitment: string | null;
  priceUsdc: number;
}

/** A sale that the books lack, of goods or of a thing of the city. */
export interface LostSale {
  eventId: bigint;
  at: Date;
  listingId: bigint;
  paidUsdc: number;
  /** How it was paid; may be `free`. */
  via: string;
  /** 0x and hex digits; null if the log names no transaction, as for free goods. */
  txHash: string | null;
}

/** A comment that the books lack. Its words are in no log. */
export interface LostComment {
  eventId: bigint;
  at: Date;
  id: bigint;
  listingId: bigint;
  /** Handle of the author. */
  author: string;
}

/** Facts from events that the books have lost. */
export interface Lost {
  /** The highest id of each kind that was shown; 0: none. */
  shown: Record<LoggedKind, bigint>;
  listings: LostListing[];
  sales: LostSale[];
  comments: LostComment[];
  registered: { merchantId: bigint; handle: string; at: Date }[];
  /** Merchants whose key was replaced (`rotated`), or key and codes (`recovered`). */
  rotated: Set<bigint>;
  recovered: Set<bigint>;
  /** Listings that were removed and not restored, with the reason's code and the time. */
  removed: Map<bigint, { reason: string; at: Date }>;
  withdrawn: Set<bigint>;
  commentsRemoved: Map<bigint, string>;
  /** By merchant, with the code of the reason. */
  storeLinesRemoved: Map<bigint, string>;
  /** By appeal, with the code of the reason. */
  statementsRemoved: Map<bigint, string>;
  /** Payments that were refunded after a review. */
  refunded: Set<bigint>;
  /** Lost recoveries: each had raised the ids that the log does not name. */
  recoveries: bigint;
}

interface LoggedEvent {
  kind: string;
  at: string;
  actor: string;
  detail: Readonly<Record<string, unknown>>;
}

/** Reads events in the order of the log, so that an act that was taken back later is not repeated. */
export function findLost(events: readonly CopiedEvent[]): Lost {
  const lost: Lost = {
    shown: { listings: 0n, merchants: 0n, comments: 0n, appeals: 0n, payments: 0n },
    listings: [],
    sales: [],
    comments: [],
    registered: [],
    rotated: new Set(),
    recovered: new Set(),
    removed: new Map(),
    withdrawn: new Set(),
    commentsRemoved: new Map(),
    storeLinesRemoved: new Map(),
    statementsRemoved: new Map(),
    refunded: new Set(),
    recoveries: 0n,
  };
  const made: Made = { merchants: new Set(), listings: new Set(), comments: new Set(), appeals: new Set() };
  for (const { id, canonical } of events) {
    const told: LoggedEvent = JSON.parse(canonical.toString('utf8'));
    noteIds(lost, told);
    noteMade(made, told);
    noteIdentity(lost, told);
    noteGoods(lost, told);
    noteTrade(lost, id, told);
    noteTexts(lost, told);
    if (told.kind === 'recovery') lost.recoveries += 1n;
    if (textOf(told, 'outcome') === 'refunded') lost.refunded.add(idOf(told, 'payment_id'));
  }
  for (const id of made.merchants) {
    for (const set of [lost.rotated, lost.recovered, lost.storeLinesRemoved]) set.delete(id);
  }
  for (const id of made.listings) for (const set of [lost.removed, lost.withdrawn]) set.delete(id);
  for (const id of made.comments) lost.commentsRemoved.delete(id);
  for (const id of made.appeals) lost.statementsRemoved.delete(id);
  return lost;
}

/** Ids issued in lost events. A row of the books with such an id is a different one, so acts on it do not apply. */
interface Made {
  merchants: Set<bigint>;
  listings: Set<bigint>;
  comments: Set<bigint>;
  appeals: Set<bigint>;
}

function noteMade({ merchants, listings, comments, appeals }: Made, told: LoggedEvent): void {
  if (told.kind === 'register') merchants.add(idOf(told, 'merchant_id'));
  if (told.kind === 'listing' || told.kind === 'maintainer_seed') listings.add(idOf(told, 'listing_id'));
  if (told.kind === 'comment') comments.add(idOf(told, 'comment_id'));
  if (told.kind === 'appeal') appeals.add(idOf(told, 'appeal_id'));
}

function idOf({ detail }: LoggedEvent, name: string): bigint {
  const value = detail[name];
  return typeof value === 'number' ? BigInt(value) : 0n;
}

function textOf({ detail }: LoggedEvent, name: string): string | null {
  const value = detail[name];
  return typeof value === 'string' ? value : null;
}

function usdcOf({ detail }: LoggedEvent, name: string): number {
  const value = detail[name];
  return typeof value === 'number' ? value : 0;
}

function noteIds({ shown }: Lost, told: LoggedEvent): void {
  for (const kind of Object.keys(LOGGED_IDS) as LoggedKind[]) {
    const id = idOf(told, LOGGED_IDS[kind]);
    if (id > shown[kind]) shown[kind] = id;
  }
}

function noteIdentity(lost: Lost, told: LoggedEvent): void {
  const merchantId = idOf(told, 'merchant_id');
  if (told.kind === 'register') lost.registered.push({ merchantId, handle: told.actor, at: new Date(told.at) });
  if (told.kind === 'rotate') lost.rotated.add(merchantId);
  if (told.kind === 'recover') lost.recovered.add(merchantId);
}

/** Losses that cannot be restored here: buyers must show their sales, and comments are gone. */
function noteTrade({ sales, comments }: Lost, eventId: bigint, told: LoggedEvent): void {
  const of = { eventId, at: new Date(told.at), listingId: idOf(told, 'listing_id') };
  if (told.kind === 'sale' || told.kind === 'world_sale') {
    const via = textOf(told, 'verified_via') ?? 'unknown';
    sales.push({ ...of, paidUsdc: usdcOf(told, 'paid_usdc'), via, txHash: textOf(told, 'tx_hash') });
  }
  if (told.kind === 'comment') comments.push({ ...of, id: idOf(told, 'comment_id'), author: told.actor });
}

function noteGoods(lost: Lost, told: LoggedEvent): void {
  const id = idOf(told, 'listing_id');
  const action = textOf(told, 'action');
  if (told.kind === 'listing' || told.kind === 'maintainer_seed') {
    lost.listings.push({
      id,
      merchantId: idOf(told, 'merchant_id'),
      payee: textOf(told, 'seller_wallet'),
      commitment: textOf(told, 'artifact_commitment'),
      priceUsdc: usdcOf(told, 'price_usdc'),
    });
  }
  if (told.kind === 'withdrawal') lost.withdrawn.add(id);
  if (told.kind !== 'moderation') return;
  const reason = textOf(told, 'reason_code') ?? 'other';
  if (action === 'remove') lost.removed.set(id, { reason, at: new Date(told.at) });
  if (action === 'decide_appeal' && textOf(told, 'outcome') === 'restored') lost.removed.delete(id);
}

/** Texts that the maintainer removed. */
function noteTexts(lost: Lost, told: LoggedEvent): void {
  if (told.kind !== 'moderation') return;
  const action = textOf(told, 'action');
  const reason = textOf(told, 'reason_code') ?? 'other';
  if (action === 'remove_comment') lost.commentsRemoved.set(idOf(told, 'comment_id'), reason);
  if (action === 'remove_store_line') lost.storeLinesRemoved.set(idOf(told, 'merchant_id'), reason);
  if (action === 'remove_statement') lost.statementsRemoved.set(idOf(told, 'appeal_id'), reason);
}
