import { MAINTAINER_MERCHANT_ID } from '../../contract/vocabulary.ts';
import { isoTime } from '../../platform/clock.ts';
import { isMerchantKey } from '../../platform/secret-format.ts';
import type { Market, Merchant } from '../context.ts';
import { findKeyOwner, noteKeyUse } from './store.ts';

/** Whose key this is; null when it is nobody's, or no longer. */
export async function authenticate(
  market: Pick<Market, 'config' | 'database' | 'pepper' | 'clock' | 'log'>,
  bearer: string,
): Promise<Merchant | null> {
  // The checksum tells most wrong keys apart without asking the database.
  if (!isMerchantKey(bearer, market.config.keyPrefix)) return null;
  const hashes = market.pepper.hashes(bearer).map(({ hash }) => hash);
  const owner = await findKeyOwner(market.database, hashes);
  if (owner === null) return null;
  const today = isoTime(market.clock.now()).slice(0, 10);
  if (owner.lastUsedOn !== today) noteInPassing(market, owner.keyHash, today);
  return {
    id: owner.merchantId,
    handle: owner.handle,
    maintainer: owner.merchantId === BigInt(MAINTAINER_MERCHANT_ID),
  };
}

/** The request does not wait for it, and does not fail with it. */
function noteInPassing({ database, log }: Pick<Market, 'database' | 'log'>, keyHash: Buffer, today: string): void {
  noteKeyUse(database, keyHash, today).catch((error: unknown) => {
    log.warn('key_use_not_noted', { error });
  });
}
