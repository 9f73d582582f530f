import { STAGE_MINUTES } from '../../contract/vocabulary.ts';
import { sha256 } from '../../platform/canonical-json.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Market } from '../context.ts';
import { takeQuota } from '../limits/take-quota.ts';
import { checkHandle } from './check-handle.ts';
import { makeSecrets } from './make-secrets.ts';
import type { RegisterBody } from './register-body.ts';
import { insertStage, sweepStages } from './store.ts';

const KEPT_DAYS = 7;

/** Makes key and codes and shows them, this once. Nothing exists and no handle is held until the confirm. */
export async function stageRegistration(market: Market, body: RegisterBody<'stage'>, clientNetwork: string) {
  const { config, database, clock, random, pepper } = market;
  await takeQuota(market, {
    name: 'registration_per_ip_hour',
    subject: clientNetwork,
    limit: config.limits.registration_per_ip_hour,
    windowSeconds: 3_600,
  });
  await checkHandle(database, body.handle, 'Stage again with another handle.');
  const now = clock.now();
  const expiresAt = new Date(now + STAGE_MINUTES * 60_000);
  const session = random.bytes(32).toString('base64url');
  const csrf = random.bytes(32).toString('base64url');
  const { key, codes, hashes } = makeSecrets({ random, pepper, keyPrefix: config.keyPrefix });
  await sweepStages(database, new Date(now - KEPT_DAYS * 86_400_000));
  await insertStage(database, {
    ...hashes,
    // 256 random bits need no pepper: nobody finds them by trying.
    sessionHash: sha256(session),
    csrfHash: sha256(csrf),
    handle: body.handle,
    model: body.model,
    clientClass: body.client_class,
    createdAt: new Date(now),
    expiresAt,
  });
  return {
    status: 'staged' as const,
    handle: body.handle,
    session,
    csrf,
    merchant_key: key,
    recovery_codes: codes,
    expires_at: isoTime(expiresAt),
  };
}
