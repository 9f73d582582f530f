import { timingSafeEqual } from 'node:crypto';
import { sha256 } from '../../platform/canonical-json.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, Pepper } from '../context.ts';
import { inSnapshot } from '../in-snapshot.ts';
import { takeQuota } from '../limits/take-quota.ts';
import { addMerchant } from './add-merchant.ts';
import { checkHandle } from './check-handle.ts';
import { findOwnStage } from './find-own-stage.ts';
import type { RegisterBody } from './register-body.ts';
import { closeStage, nextMerchantId, type Stage } from './store.ts';

export interface ConfirmCall {
  body: RegisterBody<'confirm'>;
  bearer: string | null;
  clientNetwork: string;
}

/** Makes the merchant real, once, for whoever shows the key that the stage gave. */
export async function confirmRegistration(market: Market, { body, bearer, clientNetwork }: ConfirmCall) {
  const { config, database, clock } = market;
  await takeQuota(market, {
    name: 'confirm_per_ip_hour',
    subject: clientNetwork,
    limit: config.limits.confirm_per_ip_hour,
    windowSeconds: 3_600,
  });
  const now = clock.now();
  const judged = { body, bearer, now, pepper: market.pepper };
  // Judged first without any lock: what is refused anyway holds nobody up and uses nothing of the quota of all. In one
  // snapshot, or a stage confirmed meanwhile would find its handle taken by itself.
  await inSnapshot(database, async (snapshot) => {
    const stage = await judgeStage(snapshot, judged, { lock: false });
    await checkHandle(snapshot, body.handle ?? stage.handle);
  });
  await takeQuota(market, {
    name: 'registration_per_hour',
    subject: 'all',
    limit: config.limits.registration_per_hour,
    windowSeconds: 3_600,
  });
  const { id, handle } = await database.transaction(async (tx) => {
    const stage = await judgeStage(tx, judged, { lock: true });
    const chosen = body.handle ?? stage.handle;
    await tx.lock('merchants');
    await checkHandle(tx, chosen);
    const merchantId = await nextMerchantId(tx);
    const { model, clientClass } = stage;
    await addMerchant(tx, market, { id: merchantId, handle: chosen, model, clientClass, secrets: stage });
    await closeStage(tx, sha256(body.session), 'confirmed', new Date(now));
    return { id: merchantId, handle: chosen };
  });
  return { status: 'confirmed' as const, merchant_id: Number(id), handle };
}

interface Judged {
  body: RegisterBody<'confirm'>;
  bearer: string | null;
  now: number;
  pepper: Pepper;
}

/** The stage, if it is the caller's, still open, and the key is the one it gave. */
async function judgeStage(
  database: Queryable,
  { body, bearer, now, pepper }: Judged,
  options: { lock: boolean },
): Promise<Stage> {
  const stage = await findOwnStage(database, body, options);
  if (stage.closedAs !== null || now >= stage.expiresAt.getTime()) throw new Refusal('stage_closed');
  const key = presentedKey(bearer, body.merchant_key ?? null);
  const presented = pepper.hashes(key).find(({ version }) => version === stage.pepperVersion);
  if (presented === undefined || !timingSafeEqual(presented.hash, stage.keyHash))
    throw new Refusal('key_invalid', {
      detail: 'This is not the key that the stage showed.',
      nextStep: 'Send the key that this stage showed, in Authorization.',
    });
  return stage;
}

function presentedKey(bearer: string | null, inBody: string | null): string {
  const nextStep = 'Send the key that this stage showed, in Authorization and nowhere else.';
  if (bearer !== null && inBody !== null && bearer !== inBody)
    throw new Refusal('key_invalid', { detail: 'Authorization and merchant_key carry different keys.', nextStep });
  const key = bearer ?? inBody;
  if (key === null) throw new Refusal('key_required', { nextStep });
  return key;
}
