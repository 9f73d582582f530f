import type { CopiedEvent } from '../../platform/log-copy/log-copy.ts';

/** Id fields in the log, by the table that issues the ids. */
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
  /** 0x and hex digits. Null if the log did not name the payee yet. */
  payee: string | null;
  commitment: string | null;
  priceUsdc: number;
}

export interface LostSale {
  eventId: bigint;
  at: Date;
  listingId: bigint;
  paidUsdc: number;
  /** How it was paid; may be `free`. */
  via: string;
  /** 0x and hex digits. Null if the log contains no transaction, as for free goods. */
  txHash: string | null;
}

/** A comment that the database lost. The log never contains its text. */
export interface LostComment {
  eventId: bigint;
  at: Date;
  id: bigint;
  listingId: bigint;
  author: string;
}

export interface Lost {
  /** The highest id of each kind that was shown. 0 if none. */
  shown: Record<LoggedKind, bigint>;
  listings: LostListing[];
  sales: LostSale[];
  comments: LostComment[];
  registered: { merchantId: bigint; handle: string; at: Date }[];
  /** `rotated`: merchants whose key was replaced. `recovered`: merchants whose key and recovery codes were both replaced. */
  rotated: Set<bigint>;
  recovered: Set<bigint>;
  /** Listings that were removed and not restored, with reason code and time. */
  removed: Map<bigint, { reason: string; at: Date }>;
  withdrawn: Set<bigint>;
  /** Reason codes of erasures, by listing. */
  erased: Map<bigint, string>;
  commentsRemoved: Map<bigint, string>;
  /** Reason codes by merchant. */
  storeLinesRemoved: Map<bigint, string>;
  /** Reason codes by appeal. */
  statementsRemoved: Map<bigint, string>;
  /** Payments that were refunded after a review. */
  refunded: Set<bigint>;
  /** Number of lost recoveries. Each had also skipped a range of ids that do not appear in the log. */
  recoveries: bigint;
}

interface LoggedEvent {
  kind: string;
  at: string;
  actor: string;
  detail: Readonly<Record<string, unknown>>;
}

/** Reads events in log order, so that an act that was undone later is not repeated. */
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
    erased: new Map(),
    commentsRemoved: new Map(),
    storeLinesRemoved: new Map(),
    statementsRemoved: new Map(),
    refunded: new Set(),
    recoveries: 0n,
  };
  const made: Made = { merchants: new Set(), listings: new Set(), comments: new Set(), appeals: new Set() };
  for (const { id, canonical } of events) {
    const event: LoggedEvent = JSON.parse(canonical.toString('utf8'));
    noteIds(lost, event);
    noteMade(made, event);
    noteIdentity(lost, event);
    noteGoods(lost, event);
    noteTrade(lost, id, event);
    noteTexts(lost, event);
    if (event.kind === 'recovery') lost.recoveries += 1n;
    if (textOf(event, 'outcome') === 'refunded') lost.refunded.add(idOf(event, 'payment_id'));
  }
  for (const id of made.merchants) {
    for (const set of [lost.rotated, lost.recovered, lost.storeLinesRemoved]) set.delete(id);
  }
  for (const id of made.listings) for (const set of [lost.removed, lost.withdrawn, lost.erased]) set.delete(id);
  for (const id of made.comments) lost.commentsRemoved.delete(id);
  for (const id of made.appeals) lost.statementsRemoved.delete(id);
  return lost;
}

/** Ids that lost events issued. A row with such an id in the database is a different one, so lost acts do not apply to it. */
interface Made {
  merchants: Set<bigint>;
  listings: Set<bigint>;
  comments: Set<bigint>;
  appeals: Set<bigint>;
}

function noteMade({ merchants, listings, comments, appeals }: Made, event: LoggedEvent): void {
  if (event.kind === 'register') merchants.add(idOf(event, 'merchant_id'));
  if (event.kind === 'listing' || event.kind === 'maintainer_seed') listings.add(idOf(event, 'listing_id'));
  if (event.kind === 'comment') comments.add(idOf(event, 'comment_id'));
  if (event.kind === 'appeal') appeals.add(idOf(event, 'appeal_id'));
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

function noteIds({ shown }: Lost, event: LoggedEvent): void {
  for (const kind of Object.keys(LOGGED_IDS) as LoggedKind[]) {
    const id = idOf(event, LOGGED_IDS[kind]);
    if (id > shown[kind]) shown[kind] = id;
  }
}

function noteIdentity(lost: Lost, event: LoggedEvent): void {
  const merchantId = idOf(event, 'merchant_id');
  if (event.kind === 'register') lost.registered.push({ merchantId, handle: event.actor, at: new Date(event.at) });
  if (event.kind === 'rotate') lost.rotated.add(merchantId);
  if (event.kind === 'recover') lost.recovered.add(merchantId);
}

/** Collects losses that cannot be restored here: buyers must present their sales, and comments are gone. */
function noteTrade({ sales, comments }: Lost, eventId: bigint, event: LoggedEvent): void {
  const of = { eventId, at: new Date(event.at), listingId: idOf(event, 'listing_id') };
  if (event.kind === 'sale' || event.kind === 'world_sale') {
    const via = textOf(event, 'verified_via') ?? 'unknown';
    sales.push({ ...of, paidUsdc: usdcOf(event, 'paid_usdc'), via, txHash: textOf(event, 'tx_hash') });
  }
  if (event.kind === 'comment') comments.push({ ...of, id: idOf(event, 'comment_id'), author: event.actor });
}

function noteGoods(lost: Lost, event: LoggedEvent): void {
  const id = idOf(event, 'listing_id');
  const action = textOf(event, 'action');
  if (event.kind === 'listing' || event.kind === 'maintainer_seed') {
    lost.listings.push({
      id,
      merchantId: idOf(event, 'merchant_id'),
      payee: textOf(event, 'seller_wallet'),
      commitment: textOf(event, 'artifact_commitment'),
      priceUsdc: usdcOf(event, 'price_usdc'),
    });
  }
  if (event.kind === 'withdrawal') lost.withdrawn.add(id);
  if (event.kind !== 'moderation') return;
  const reason = textOf(event, 'reason_code') ?? 'other';
  if (action === 'remove') lost.removed.set(id, { reason, at: new Date(event.at) });
  if (action === 'erase') lost.erased.set(id, reason);
  if (action === 'decide_appeal' && textOf(event, 'outcome') === 'restored') lost.removed.delete(id);
}

function noteTexts(lost: Lost, event: LoggedEvent): void {
  if (event.kind !== 'moderation') return;
  const action = textOf(event, 'action');
  const reason = textOf(event, 'reason_code') ?? 'other';
  if (action === 'remove_comment') lost.commentsRemoved.set(idOf(event, 'comment_id'), reason);
  if (action === 'remove_store_line') lost.storeLinesRemoved.set(idOf(event, 'merchant_id'), reason);
  if (action === 'remove_statement') lost.statementsRemoved.set(idOf(event, 'appeal_id'), reason);
}
