import { unitsOfUsdc } from '../../contract/money.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Tx } from '../../platform/database/database.ts';
import type { CopiedEvent } from '../../platform/log-copy/log-copy.ts';
import { raiseFloor } from '../../platform/log-copy/store.ts';
import { findLastCommonId } from '../../platform/log-copy/watch-history.ts';
import { CommandRefused } from '../../platform/run-command.ts';
import { recordEvent } from '../events/record-event.ts';
import { numberBatch, readNewestEventId } from '../events/store.ts';
import { hasGoods, keepUploads } from '../goods/keeping/erasure-store.ts';
import { endSets, findHandle } from '../identity/store.ts';
import { lockListing, markWithdrawn } from '../listings/changes/store.ts';
import { eraseInTransaction } from '../moderation/erase-goods.ts';
import { clearStoreLine, findAppellant, insertTextRemoval, markRemoved } from '../moderation/store.ts';
import type { CommandMarket } from '../payments/chain/commands.ts';
import { lockComment, markCommentRemoved } from '../reactions/store.ts';
import { findLost, LOGGED_IDS, type Lost } from './find-lost.ts';
import { readLatestBlockNumber } from './read-chain.ts';
import * as store from './store.ts';

/** Gap left above the highest known id, for ids that may have been shown in the second before they could be copied. */
const LOGGED_MARGIN = 1_000n;
/** Gap for ids that appear in the log late or never, and for all ids if no copy of the log is left. */
const UNKNOWN_MARGIN = 1_000_000n;
const AT_ONCE = 500;

export interface RecoverOptions {
  fromBlock: bigint;
  reason: string;
  /** Events of all hosts' copies, by id. Null if no copy is left. */
  copied: readonly CopiedEvent[] | null;
}

export interface Recovered {
  status: 'recovered';
  recovery_id: number;
  window: { from_block: number; to_block: number };
  kept_event_id: number;
  next_event_id: number;
  /** Whether a copy of the log was read. Without one the losses are unknown. */
  copies: 'read' | 'none';
  lost: Readonly<Record<string, number>>;
  lost_sales: readonly LostSaleOut[];
  lost_comments: readonly LostCommentOut[];
}

interface LostSaleOut {
  event_id: number;
  at: string;
  listing_id: number;
  paid_usdc: number;
  verified_via: string;
  /** Null if the log contains no transaction, as for free goods. */
  tx_hash: string | null;
}

interface LostCommentOut {
  event_id: number;
  at: string;
  comment_id: number;
  listing_id: number;
  author: string;
}

/**
 * Accepts the database as it is, in one transaction. Ids that may have been shown are not issued again, ended listings stay ended, removed
 * texts stay removed, replaced keys and codes stop working, and the public log records the recovery.
 */
export async function recover(
  market: CommandMarket,
  { fromBlock, reason, copied }: RecoverOptions,
): Promise<Recovered> {
  const { database, clock, log, config } = market;
  const { chainId } = config.network;
  const toBlock = await readLatestBlockNumber(market);
  if (fromBlock > toBlock) throw new CommandRefused(`block ${fromBlock} is not there yet: the chain is at ${toBlock}`);
  const now = new Date(clock.now());
  const outcome = await database.transaction(
    async (tx) => {
      for (const key of [
        `chain:${chainId}`,
        'merchants',
        'listings',
        'comments',
        'world_drafts',
        'world_checkouts',
        'events',
      ])
        await tx.lock(key);
      const newest = await readNewestEventId(tx);
      const kept = copied === null ? newest : await findLastCommonId(tx, copied, newest);
      const events = (copied ?? []).filter(({ id }) => id > kept);
      const lost = findLost(events);
      const margin = copied === null ? UNKNOWN_MARGIN : LOGGED_MARGIN;
      const highest = [newest, events.at(-1)?.id ?? 0n].reduce((a, b) => (a > b ? a : b));
      const eventId = highest + margin + 1n;
      const counts = countsOf(lost);
      const recoveryId = await store.insertRecovery(tx, {
        ...{ chainId, fromBlock, toBlock, reason, keptEventId: kept, eventId, now },
        found: { ...counts, refunded: [...lost.refunded].map(String) },
      });
      await store.endLoss(tx, recoveryId);
      await keepUploads(tx, now);
      await raiseIds(tx, lost, { eventId, isBlind: copied === null });
      await store.markThingsForCheck(tx);
      await repeatEndings(tx, market, lost, { recoveryId, now });
      await holdIdentities(tx, lost, { recoveryId, now, isBlind: copied === null });
      const detail = {
        ...{ from_block: Number(fromBlock), to_block: Number(toBlock), reason },
        ...{ kept_event_id: Number(kept), next_event_id: Number(eventId) },
      };
      await recordEvent(tx, { clock, wakeEvents: () => {} }, { kind: 'recovery', actor: 'system', detail });
      while ((await numberBatch(tx, AT_ONCE)) === AT_ONCE);
      return { recoveryId, kept, eventId, counts, lost };
    },
    { statementTimeoutMs: 0 },
  );
  log.warn('chain_command', { name: 'recover', reason, from: String(fromBlock), to: String(toBlock) });
  return {
    status: 'recovered',
    recovery_id: Number(outcome.recoveryId),
    window: { from_block: Number(fromBlock), to_block: Number(toBlock) },
    kept_event_id: Number(outcome.kept),
    next_event_id: Number(outcome.eventId),
    copies: copied === null ? 'none' : 'read',
    lost: outcome.counts,
    ...presentLost(outcome.lost),
  };
}

function presentLost({ sales, comments }: Lost): Pick<Recovered, 'lost_sales' | 'lost_comments'> {
  return {
    lost_sales: sales.map(({ eventId, at, listingId, paidUsdc, via, txHash }) => ({
      ...{ event_id: Number(eventId), at: isoTime(at), listing_id: Number(listingId) },
      ...{ paid_usdc: paidUsdc, verified_via: via, tx_hash: txHash },
    })),
    lost_comments: comments.map(({ eventId, at, id, listingId, author }) => ({
      ...{ event_id: Number(eventId), at: isoTime(at), comment_id: Number(id) },
      ...{ listing_id: Number(listingId), author },
    })),
  };
}

function countsOf(lost: Lost): Record<string, number> {
  return {
    listings: lost.listings.length,
    merchants: lost.registered.length,
    removals: lost.removed.size,
    erasures: lost.erased.size,
    withdrawals: lost.withdrawn.size,
    keys: new Set([...lost.rotated, ...lost.recovered]).size,
    sales: lost.sales.length,
    comments: lost.comments.length,
  };
}

async function raiseIds(
  tx: Tx,
  { shown, recoveries }: Lost,
  { eventId, isBlind }: { eventId: bigint; isBlind: boolean },
): Promise<void> {
  const nextFloor = async (table: string): Promise<bigint> => {
    const inDatabase = await store.findHighestOf(tx, table);
    const unknown = UNKNOWN_MARGIN * (1n + recoveries);
    if (isBlind || !(table in LOGGED_IDS)) return inDatabase + unknown;
    const logged = shown[table as keyof typeof LOGGED_IDS];
    // A payment gets its id long before the id appears in the log.
    const margin = table === 'payments' ? unknown : LOGGED_MARGIN;
    return (logged > inDatabase ? logged : inDatabase) + margin;
  };
  await raiseFloor(tx, 'events', eventId - 1n);
  for (const table of store.NUMBERED) await raiseFloor(tx, table, await nextFloor(table));
  for (const table of store.SEQUENCED) await store.raiseSequence(tx, table, await nextFloor(table));
}

async function holdIdentities(
  tx: Tx,
  lost: Lost,
  { recoveryId, now, isBlind }: RecoveryRecord & { isBlind: boolean },
): Promise<void> {
  const handlesHeld: bigint[] = [];
  for (const one of lost.registered) if ((await store.reserveHandle(tx, one)) === 1) handlesHeld.push(one.merchantId);
  for (const id of new Set([...lost.rotated, ...lost.recovered, ...handlesHeld])) {
    await store.revokeKey(tx, id, recoveryId, now);
  }
  // The codes were burned and the new ones are lost, so only the operator can let the merchant in again.
  for (const id of lost.recovered) await endSets(tx, id, 'burned', now);
  if (isBlind) await store.lockAll(tx, recoveryId);
  await store.endAccess(tx, now);
  for (const { priceUsdc, ...listing } of lost.listings) {
    await store.insertLostListing(tx, recoveryId, { ...listing, priceUnits: unitsOfUsdc(priceUsdc) ?? 0n });
  }
}

const MAINTAINER = 1n;
const REASON = 'Removed in a part of the log that was lost, and again by the recovery.';

interface RecoveryRecord {
  recoveryId: bigint;
  now: Date;
}

/** Repeats the endings and removals of lost events, and records them again. */
async function repeatEndings(
  tx: Tx,
  { clock }: CommandMarket,
  lost: Lost,
  { recoveryId, now }: RecoveryRecord,
): Promise<void> {
  const recordAgain = (event: Parameters<typeof recordEvent>[2]): Promise<void> =>
    recordEvent(tx, { clock, wakeEvents: () => {} }, event);
  const again = { recovery_id: Number(recoveryId) };
  for (const id of lost.withdrawn) {
    const listing = await lockListing(tx, id);
    if (listing?.state !== 'live') continue;
    markWithdrawn(tx, id, null, now);
    const actor = await findHandle(tx, listing.merchantId);
    const detail = { listing_id: Number(id), merchant_id: Number(listing.merchantId), ...again };
    await recordAgain({ kind: 'withdrawal', actor, detail });
  }
  for (const [id, { reason: reasonCode, at }] of lost.removed) {
    const listing = await lockListing(tx, id);
    if (listing === null || (listing.state !== 'live' && listing.state !== 'withdrawn')) continue;
    // Keep the original time, so that a later transfer goes to the payee for review, even if its payment is restored.
    markRemoved(tx, id, { reasonCode, reason: REASON, removedBy: MAINTAINER, now: at });
    const about = { listing_id: Number(id), merchant_id: Number(listing.merchantId), reason_code: reasonCode };
    await recordAgain({
      kind: 'moderation',
      actor: await findHandle(tx, MAINTAINER),
      detail: { action: 'remove', ...about, ...again },
    });
  }
  for (const [listingId, reasonCode] of lost.erased) {
    const erasure = { listingId, reasonCode, despitePayments: true };
    if (!(await hasGoods(tx, listingId))) continue;
    await eraseInTransaction(tx, { clock, wakeEvents: () => {} }, erasure, again);
  }
  await repeatTextRemovals(tx, lost, { recordAgain, now, again });
}

interface TextRemovals {
  recordAgain(event: Parameters<typeof recordEvent>[2]): Promise<void>;
  now: Date;
  again: { recovery_id: number };
}

/**
 * Removes texts again that lost events removed. The database may contain an older store line than the removed one. The older line is
 * emptied too, and its merchant can write it again.
 */
async function repeatTextRemovals(tx: Tx, lost: Lost, { recordAgain, now, again }: TextRemovals): Promise<void> {
  const recordRemoval = async (detail: Parameters<typeof recordEvent>[2]['detail']): Promise<void> =>
    await recordAgain({ kind: 'moderation', actor: await findHandle(tx, MAINTAINER), detail: { ...detail, ...again } });
  for (const [id, reasonCode] of lost.commentsRemoved) {
    const comment = await lockComment(tx, id);
    if (comment === null || comment.removed) continue;
    markCommentRemoved(tx, id, { reasonCode, reason: REASON, now });
    const about = {
      comment_id: Number(id),
      listing_id: Number(comment.listingId),
      merchant_id: Number(comment.merchantId),
    };
    await recordRemoval({ action: 'remove_comment', ...about, reason_code: reasonCode });
  }
  const removal = { reason: REASON, removedBy: MAINTAINER, now };
  for (const [merchantId, reasonCode] of lost.storeLinesRemoved) {
    if (!(await clearStoreLine(tx, merchantId))) continue;
    await insertTextRemoval(tx, { merchantId, appealId: null }, { ...removal, reasonCode });
    await recordRemoval({ action: 'remove_store_line', merchant_id: Number(merchantId), reason_code: reasonCode });
  }
  for (const [appealId, reasonCode] of lost.statementsRemoved) {
    const appeal = await findAppellant(tx, appealId);
    if (appeal === null) continue;
    const { merchantId, listingId } = appeal;
    if (!(await insertTextRemoval(tx, { merchantId, appealId }, { ...removal, reasonCode }))) continue;
    const about = { appeal_id: Number(appealId), listing_id: Number(listingId), merchant_id: Number(merchantId) };
    await recordRemoval({ action: 'remove_statement', ...about, reason_code: reasonCode });
  }
}
