import { type IdentityEndpoint, MAINTAINER_MERCHANT_ID } from '../../contract/vocabulary.ts';
import { isoTime } from '../../platform/clock.ts';
import { Refusal } from '../../platform/refusal.ts';
import { isMerchantKey } from '../../platform/secrets.ts';
import type { Market, MarketConfig, Merchant, Queryable } from '../context.ts';
import { findKeyOwner, type KeyOwner, recordKeyUse } from './store.ts';

type Authenticator = Pick<Market, 'config' | 'pepper' | 'clock' | 'log'> & { database: Queryable };

/** Returns the owner of this key; null if unknown or revoked. Never cached, so a replaced key stops working at once in every process. */
export async function authenticate(market: Authenticator, bearer: string): Promise<Merchant | null> {
  const owner = await findOwner(market, bearer);
  if (owner === null) return null;
  const { merchantId: id, handle, keyId } = owner;
  return { id, handle, maintainer: id === BigInt(MAINTAINER_MERCHANT_ID), keyId };
}

async function findOwner(market: Authenticator, bearer: string): Promise<KeyOwner | null> {
  // The checksum rules out most wrong keys without a query.
  if (!isMerchantKey(bearer, market.config.keyPrefix)) return null;
  const hashes = market.pepper.hashes(bearer).map(({ hash }) => hash);
  const owner = await findKeyOwner(market.database, hashes);
  if (owner === null) return null;
  const today = isoTime(market.clock.now()).slice(0, 10);
  const isRecorded = owner.lastUsedOn === today && owner.pepperVersion >= market.pepper.version;
  if (!isRecorded) recordKeyUseLater(market, owner.keyId, today, bearer);
  return owner;
}

/** Records the use in the background, so that the request neither waits for it nor fails with it. */
function recordKeyUseLater({ database, log, pepper }: Authenticator, keyId: bigint, today: string, key: string): void {
  const newest = { keyHash: pepper.hash(key), pepperVersion: pepper.version };
  recordKeyUse(database, keyId, today, newest).catch((error: unknown) => {
    log.warn('key_use_not_recorded', { error });
  });
}

/** Returns the owner of the bearer key, or refuses. */
export async function mustOwnKey(market: Authenticator, bearer: string | null): Promise<KeyOwner> {
  if (bearer === null) throw new Refusal('key_required');
  const owner = await findOwner(market, bearer);
  if (owner === null) throw new Refusal('key_invalid');
  return owner;
}

/** Refuses if the operator has closed the endpoint (OPENAISLE_DOORS). */
export function mustBeOpen(
  { openIdentityEndpoints }: Pick<MarketConfig, 'openIdentityEndpoints'>,
  door: IdentityEndpoint,
): void {
  if (!openIdentityEndpoints.has(door)) throw new Refusal('door_closed');
}
