import type { z } from 'zod';
import type { FlagTarget, flagOut } from '../../contract/feedback.ts';
import type { Endpoints } from '../../contract/index.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Tx } from '../../platform/database/database.ts';
import { takeQuotaUnless } from '../../platform/database/quota.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketOperation, Merchant } from '../context.ts';
import { recordEvent } from '../events/record-event.ts';
import { dailyQuota } from '../limits/quotas.ts';
import {
  type FlaggedTarget,
  type FlagRow,
  findOwnFlag,
  findTargetOwner,
  insertFlag,
  ownFlagQuery,
  readFlag,
} from './store.ts';

/** Name of the target's field in the log. */
const DETAIL_IDS = {
  listing: 'listing_id',
  comment: 'comment_id',
  merchant: 'merchant_id',
} as const satisfies Record<FlagTarget, string>;

/** POST /api/flag. Repeating a flag uses no quota; every other call counts, refused ones included. The target may be in any state. */
export const raiseFlag: MarketOperation<Endpoints['raiseFlag']> = async (market, call) => {
  const { caller } = call;
  const { target_type: type, target_id: targetId, reason } = call.body;
  const target = { type, id: targetId };
  const quota = dailyQuota(market, 'voices_per_merchant_day', caller.id);
  const existingId = await takeQuotaUnless(market, quota, ownFlagQuery(target, caller.id));
  const { id, made } =
    existingId === null
      ? await market.database.transaction((tx) => raiseInTransaction(tx, market, caller, { target, reason }))
      : { id: existingId, made: false };
  return { status: made ? 201 : 200, body: { flag: presentFlag(await readFlag(market.database, id)) } };
};

async function raiseInTransaction(
  tx: Tx,
  market: Market,
  caller: Merchant,
  { target, reason }: { target: FlaggedTarget; reason: string },
): Promise<{ id: bigint; made: boolean }> {
  const owner = await findTargetOwner(tx, target);
  if (owner === null) throw new Refusal('not_found', { detail: `There is no ${target.type} with that id.` });
  if (owner === caller.id) throw new Refusal('own_target');
  const now = new Date(market.clock.now());
  const id = await insertFlag(tx, target, { merchantId: caller.id, reason, now });
  if (id === null) return { id: await findOwnFlag(tx, target, caller.id), made: false };
  // The reason is for the maintainer only; the log is public.
  await recordEvent(tx, market, {
    kind: 'flag',
    actor: caller.handle,
    detail: { target_type: target.type, [DETAIL_IDS[target.type]]: Number(target.id) },
  });
  return { id, made: true };
}

export function presentFlag(row: FlagRow): z.output<typeof flagOut> {
  return {
    id: Number(row.id),
    target_type: row.target_type,
    target_id: Number(row.target_id),
    handle: row.handle,
    reason: row.reason,
    created_at: isoTime(row.created_at),
  };
}
