import type { Tx } from '../../../platform/database/database.ts';
import { isForeignKeyViolation } from '../../../platform/database/database-error.ts';
import type { Market } from '../../context.ts';
import type { HeldThings } from '../../listings/complete-fee.ts';
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
      const offer = listedOffer.parse(JSON.parse(body.toString('utf8')));
      return async (within, feeId) => {
        await addThing(within, market, { draft, offer, bodyHash, feeId });
      };
    },
    release: async (tx, draftId) => {
      const draft = await mustLock(tx, draftId);
      const now = market.clock.now();
      if (now < draft.expiresAt.getTime()) await reopenDraft(tx, draftId);
      else await endDraft(tx, draftId, 'expired', new Date(now));
      await tryToFreeWallet(tx, draft);
    },
  };
}

async function mustLock(tx: Tx, draftId: bigint): Promise<Draft> {
  const draft = await lockDraft(tx, draftId);
  if (draft?.state !== 'fee_pending') throw new TypeError(`draft ${draftId} has no fee under way`);
  return draft;
}

/** Another draft or listing may take it at the same time: then it stays what it is. */
async function tryToFreeWallet(tx: Tx, { sellerWallet }: Draft): Promise<void> {
  try {
    await tx.savepoint(() => freeWallet(tx, sellerWallet));
  } catch (error) {
    if (!isForeignKeyViolation(error)) throw error;
  }
}
