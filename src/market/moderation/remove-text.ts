import type { Endpoints } from '../../contract/index.ts';
import type { RemovableText, TextRemoval } from '../../contract/moderation.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Tx } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { MarketCall, MarketOperation } from '../context.ts';
import { recordEvent } from '../events/record-event.ts';
import {
  clearStoreLine,
  findAppellant,
  findTextRemoval,
  insertTextRemoval,
  type TextRemovalRow,
  type TextToRemove,
} from './store.ts';

/** Value of `action` in the detail of the log event. */
export const TEXT_REMOVAL_ACTIONS: Readonly<Record<RemovableText, string>> = {
  store_line: 'remove_store_line',
  appeal: 'remove_statement',
};

/** POST /api/mod/text. Removes a store line or appeal statement. Repeating it returns the last removal. The log never contains the text. */
export const removeText: MarketOperation<Endpoints['removeText']> = async (market, call) => {
  const { target_type: type, target_id: id, reason_code: reasonCode, reason } = call.body;
  const lastRemoval = await market.database.transaction(async (tx) => {
    const text = await findText(tx, call);
    const hasText = text.appealId !== null || (await clearStoreLine(tx, text.merchantId));
    const removal = { reasonCode, reason, removedBy: call.caller.id, now: new Date(market.clock.now()) };
    const isRemoved = hasText && (await insertTextRemoval(tx, text, removal));
    const last = await findTextRemoval(tx, text);
    if (last === null) throw new Refusal('not_found', { detail: 'No merchant with that id has a store line.' });
    if (!isRemoved) return last;
    await recordEvent(tx, market, {
      kind: 'moderation',
      actor: call.caller.handle,
      detail: {
        action: TEXT_REMOVAL_ACTIONS[type],
        ...(text.listingId === null ? {} : { appeal_id: Number(id), listing_id: Number(text.listingId) }),
        merchant_id: Number(text.merchantId),
        reason_code: reasonCode,
      },
    });
    return last;
  });
  return { status: 200, body: { removal: presentRemoval(call.body, lastRemoval) } };
};

type RemoveCall = MarketCall<Endpoints['removeText']>;

/** Finds the text. `listingId` is the appealed listing, or null for a store line. */
async function findText(tx: Tx, { body }: RemoveCall): Promise<TextToRemove & { listingId: bigint | null }> {
  const { target_type: type, target_id: id } = body;
  if (type === 'store_line') return { merchantId: id, appealId: null, listingId: null };
  const appeal = await findAppellant(tx, id);
  if (appeal === null) throw new Refusal('not_found', { detail: 'There is no appeal with that id.' });
  return { ...appeal, appealId: id };
}

function presentRemoval(
  { target_type, target_id }: RemoveCall['body'],
  { id, merchant, reason_code, removed_at }: TextRemovalRow,
): TextRemoval {
  return {
    id: Number(id),
    target_type,
    target_id: Number(target_id),
    merchant,
    reason_code,
    removed_at: isoTime(removed_at),
  };
}
