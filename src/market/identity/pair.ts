import type { Endpoints } from '../../contract/index.ts';
import { PAIRING_MINUTES } from '../../contract/vocabulary.ts';
import { isoTime } from '../../platform/clock.ts';
import { takeQuota } from '../../platform/database/quota.ts';
import { Refusal } from '../../platform/refusal.ts';
import { makePairingCode } from '../../platform/secrets.ts';
import type { MarketOperation } from '../context.ts';
import { mustBeOpen } from './authenticate.ts';
import { findCurrentKey, insertPairingCode, lockIdentity, sweepPairingCodes } from './store.ts';

const RETENTION_DAYS = 7;

/** Makes a code that a person types on the hosted connector's page, so that a host can act for this merchant without seeing its key. */
export const pair: MarketOperation<Endpoints['pair']> = async (market, { caller }) => {
  const { config, database, clock, random, pepper } = market;
  mustBeOpen(config, 'pair');
  const { id: merchantId, keyId } = caller;
  await takeQuota(market, {
    name: 'pair_per_merchant_hour',
    subject: String(merchantId),
    limit: config.limits.pair_per_merchant_hour,
    windowSeconds: 3_600,
  });
  const now = clock.now();
  const code = makePairingCode(random, config.keyPrefix);
  const expiresAt = new Date(now + PAIRING_MINUTES * 60_000);
  await sweepPairingCodes(database, new Date(now - RETENTION_DAYS * 86_400_000));
  await database.transaction(async (tx) => {
    await lockIdentity(tx, merchantId);
    // A key that was replaced meanwhile must not leave a code behind.
    if ((await findCurrentKey(tx, merchantId)) !== keyId) throw new Refusal('key_invalid');
    const hash = { codeHash: pepper.hash(code), pepperVersion: pepper.version };
    await insertPairingCode(tx, { ...hash, merchantId, createdAt: new Date(now), expiresAt });
  });
  return { status: 200, body: { status: 'created', pairing_code: code, expires_at: isoTime(expiresAt) } };
};
