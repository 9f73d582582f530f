import { findPurchase } from '../agent/list-purchases.ts';
import { openChain } from '../agent/read-chain.ts';
import type { SpendBook } from '../agent/spend-book.ts';
import { verifyGoods } from '../agent/verify-goods.ts';
import type { ToolContext } from './tool-context.ts';

/** What was looked at, and whether all of it is as it should be. */
export interface PurchaseCheck {
  /** Null: something could not be asked; `trouble` says why. The file was looked at all the same when the goods came. */
  ok: boolean | null;
  /** The file against the commitment that the listing published. */
  goods?: 'intact' | 'changed' | 'missing';
  /** The receipt against the market's books; null where there is no receipt. */
  market?: string | null;
  /** The receipt against the chain; null where no RPC endpoint is given. */
  chain?: string | null;
  trouble?: string;
}

/** The purchase of a listing: its file, its receipt, its transfer. What cannot be asked now is told and does not undo a purchase. */
export async function checkPurchase(
  { client, rpcUrl, troubleOf }: Pick<ToolContext, 'client' | 'rpcUrl' | 'troubleOf'>,
  book: SpendBook,
  listingId: number,
): Promise<PurchaseCheck> {
  const record = await findPurchase(book, String(listingId), client.baseUrl);
  try {
    const chain = rpcUrl === undefined ? undefined : await openChain(rpcUrl, client.environment);
    const { ok, goods, market, chain: found } = await verifyGoods(record, { client, chain });
    return { ok, goods, market: market?.status ?? null, chain: found?.status ?? null };
  } catch (error) {
    return { ok: null, trouble: (await troubleOf(error)).title };
  }
}
