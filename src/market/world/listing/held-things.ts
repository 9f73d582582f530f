import type { Tx } from '../../../platform/database/database.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import type { HeldThings } from '../../listings/fees/complete-fee.ts';
import { type Draft, endDraft, freeWallet, lockDraft, reopenDraft } from '../drafts/store.ts';
import { addThing } from './add-thing.ts';
import { listedOffer } from './thing-to-add.ts';

/** What the end of a fee does with the draft that it kept. */
export function heldThings(market: Market): HeldThings {
  return {
    take: async (tx, payment, { draftId, body }) => {
      const draft = await mustLock(tx, draftId);
      const { bodyHash } = payment;
      if (bodyHash === null) throw new TypeError('a listing fee without a body');
      const stored = listedOffer.safeParse(JSON.parse(body.toString('utf8')));
      return async (within, feeId) => {
        // Stored by an older version, perhaps: the fee must not wait for ever.
        if (!stored.success) throw new Refusal('offer_mismatch');
        await addThing(within, market, { draft, offer: stored.data, bodyHash, feeId });
      };
    },
    release: async (tx, draftId) => {
      const draft = await mustLock(tx, draftId);
      const now = market.clock.now();
      if (now < draft.expiresAt.getTime()) await reopenDraft(tx, draftId);
      else await endDraft(tx, draftId, 'expired', new Date(now));
      await freeWallet(tx, draft.sellerWallet);
    },
  };
}

async function mustLock(tx: Tx, draftId: bigint): Promise<Draft> {
  const draft = await lockDraft(tx, draftId);
  if (draft?.state !== 'fee_pending') throw new TypeError(`draft ${draftId} has no fee under way`);
  return draft;
}
