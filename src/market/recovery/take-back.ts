import type { Tx } from '../../platform/database/database.ts';
import { toBytes } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { MOST_DRIFT_MS } from '../payments/paths/direct/open-intent.ts';
import { type Intent, insertIntent } from '../payments/paths/direct/store.ts';
import { type IntentSlip, type PaymentSlip, readSlip } from '../payments/recovery-slip.ts';
import * as store from './store.ts';

/**
 * A payment or an intent that was lost stands in the books again as it was opened, and goes on from there by the chain's evidence like
 * every other: the slip says only that this market once opened it, and on which terms. The collector still has to show the key, the
 * token or the payer's signature. The database is asked only where this process knows of a recovery after it; one that has not heard of
 * it yet answers as if there were no slip, and the next request brings it again.
 */
export async function takeBack(
  market: Pick<Market, 'database' | 'pepper' | 'clock'>,
  text: string,
  recoveredAt: Date | null,
): Promise<void> {
  const slip = readSlip(market, text);
  if (slip === null) {
    throw new Refusal('invalid_fields', {
      errors: [{ path: 'X-Recovery-Slip', message: 'is none that this market gave' }],
    });
  }
  // What the books lack without a recovery after it was never lost.
  if (recoveredAt === null || recoveredAt <= slip.createdAt) return;
  await market.database.transaction(async (tx) => {
    // What was heard of may have been lost again.
    if (!(await store.wasRecoveredSince(tx, slip.createdAt))) return;
    if (!(await isForSale(tx, slip))) return;
    await tx.lock(`slip:${slip.payee}:${slip.nonce}`);
    if (slip.kind === 'intent') await putIntent(tx, slip);
    else await putPayment(tx, slip, new Date(market.clock.now()));
  });
}

/** An intent has its time from the chain, in whole seconds, and the rows of the books have theirs from the clock. */
const INTENT_BEHIND_MS = MOST_DRIFT_MS + 1_000;

function openedBy({ kind, createdAt }: PaymentSlip | IntentSlip): Date {
  return kind === 'intent' ? new Date(createdAt.getTime() + INTENT_BEHIND_MS) : createdAt;
}

/** A fee is for no listing. */
async function isForSale(tx: Tx, slip: PaymentSlip | IntentSlip): Promise<boolean> {
  const { listingId, payee } = slip;
  const at = openedBy(slip);
  const priceUnits = slip.kind === 'intent' ? slip.minimumUnits : slip.valueUnits;
  return listingId === null || (await store.hasListing(tx, { listingId, payee, priceUnits, at }));
}

async function putIntent(tx: Tx, slip: IntentSlip): Promise<void> {
  if (!(await store.hasMerchant(tx, slip.merchantId, openedBy(slip))) || (await store.hasIntent(tx, slip.id))) return;
  const { kind: _, ...intent } = slip;
  await insertIntent(tx, intent satisfies Intent);
}

async function putPayment(tx: Tx, slip: PaymentSlip, now: Date): Promise<void> {
  // Its money has gone back.
  if (await store.wasRefunded(tx, slip.id)) return;
  const isKnown = slip.merchantId !== null && (await store.hasMerchant(tx, slip.merchantId, openedBy(slip)));
  // A fee is its merchant's; goods are collected by the payer's signature, where the account is gone.
  if (!isKnown && slip.purpose === 'listing_fee') return;
  await store.putPayment(tx, {
    ...slip,
    merchantId: isKnown ? slip.merchantId : null,
    bodyHash: slip.bodyHash && toBytes(slip.bodyHash),
    tokenHash: slip.tokenHash && toBytes(slip.tokenHash),
    now,
  });
}
