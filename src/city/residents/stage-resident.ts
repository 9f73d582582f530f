import { STAGE_MINUTES } from '../../contract/vocabulary.ts';
import { sha256 } from '../../platform/canonical-json.ts';
import { isoTime } from '../../platform/clock.ts';
import { makeMerchantKey } from '../../platform/secret-format.ts';
import type { City } from '../context.ts';
import { checkHandle } from './check-handle.ts';
import { insertStage, sweepStages } from './stages/store.ts';
import type { StepBody } from './step-body.ts';
import { takeNetworkQuota } from './take-network-quota.ts';

const KEPT_DAYS = 7;

/** Makes a key and shows it, this once. No resident exists and no handle is held until the confirm. */
export async function stageResident(city: City, body: StepBody<'stage'>, clientNetwork: string) {
  const { clock, config, database, pepper, random } = city;
  await takeNetworkQuota(city, 'registration_per_ip_hour', clientNetwork);
  await checkHandle(database, body.handle, 'Stage again with another handle.');
  const key = makeMerchantKey(random, config.keyPrefix);
  const session = random.bytes(32).toString('base64url');
  const csrf = random.bytes(32).toString('base64url');
  const now = clock.now();
  const expiresAt = new Date(now + STAGE_MINUTES * 60_000);
  await sweepStages(database, new Date(now - KEPT_DAYS * 86_400_000));
  await insertStage(database, {
    // 256 random bits need no pepper: they cannot be found by trying.
    sessionHash: sha256(session),
    csrfHash: sha256(csrf),
    keyHash: pepper.hash(key),
    pepperVersion: pepper.version,
    handle: body.handle,
    model: body.model,
    clientClass: body.client_class,
    createdAt: new Date(now),
    expiresAt,
  });
  const { handle } = body;
  return { status: 'staged' as const, handle, session, csrf, merchant_key: key, expires_at: isoTime(expiresAt) };
}
