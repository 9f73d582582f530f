import type { Database, Queryable, Tx } from '../../platform/database/database.ts';

/**
 * What a merchant bought and sold is walked newest first by id, and a sale may be committed after one with a higher id. Sales share this
 * lock from before they have an id until their commit; a page of the history is read while none of them holds it. So whatever is committed
 * after the page has a higher id than all that is on it, and no walk meets it.
 */
const historyLock = (merchantId: bigint): string => `purchases:${merchantId}`;

/** Before a sale is written: of the seller and of the buyer. In one order for all, so that no two sales wait for each other for ever. */
export async function shareHistories(tx: Tx, sellerId: bigint, buyerId: bigint | null): Promise<void> {
  const ids = buyerId === null ? [sellerId] : [sellerId, buyerId];
  for (const id of [...new Set(ids)].sort((a, b) => (a < b ? -1 : 1))) await tx.lockShared(historyLock(id));
}

/**
 * Reads what a merchant bought and sold while none of it changes. Each statement has a moment of its own: the moment of a snapshot would be
 * that of its first statement, which waits for the lock.
 */
export async function readOwnHistory<T>(
  database: Database,
  merchantId: bigint,
  read: (queryable: Queryable) => Promise<T>,
): Promise<T> {
  return database.transaction(
    async (tx) => {
      await tx.lock(historyLock(merchantId));
      return await read(tx);
    },
    { readOnly: true },
  );
}
