import sql from 'sql-template-tag';
import type { Aisle } from '../../src/contract/vocabulary.ts';
import { findListingTerms } from '../../src/market/listings/store.ts';
import { takeFreeGoods } from '../../src/market/purchases/buy-listing.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { holdTransactionOpen } from './listing-life.ts';
import type { TestMarket } from './market-context.ts';
import type { SeededMerchant } from './seed.ts';

/** Sales of this aisle stop behind their insert, with an id and before their commit, until what is returned commits. */
export function holdSales(database: Database, aisle: Aisle): Promise<{ commit(): Promise<void> }> {
  return holdTransactionOpen(database, async (tx) => {
    await tx.run(
      sql`insert into aisle_counters (aisle, slot) select ${aisle}, generate_series(0, 15) on conflict do nothing`,
    );
    await tx.rows(sql`select from aisle_counters where aisle = ${aisle} for update`);
  });
}

/** A sale, as `POST /api/buy/:id` makes it; resolves after its commit. */
export async function takeFree(market: TestMarket, listingId: bigint, buyer: SeededMerchant): Promise<void> {
  const listing = await findListingTerms(market.database, listingId);
  if (listing === null) throw new TypeError('no such listing');
  await takeFreeGoods(market, listing, { ...buyer, maintainer: false, keyId: 0n });
}
