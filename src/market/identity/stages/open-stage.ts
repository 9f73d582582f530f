import { STAGE_MINUTES } from '../../../contract/vocabulary.ts';
import { sha256 } from '../../../platform/canonical-json.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Queryable } from '../../../platform/database/database.ts';
import type { Market } from '../../context.ts';
import type { StageOf } from './stage.ts';
import { insertStage, sweepStages } from './store.ts';

const KEPT_DAYS = 7;

export interface OpenedStage {
  session: string;
  csrf: string;
  expires_at: string;
}

/** Keeps what was made until it is confirmed. It reserves nothing and puts nothing in force. */
export async function openStage(
  database: Queryable,
  { clock, random }: Pick<Market, 'clock' | 'random'>,
  of: StageOf,
): Promise<OpenedStage> {
  const now = clock.now();
  const expiresAt = new Date(now + STAGE_MINUTES * 60_000);
  const session = random.bytes(32).toString('base64url');
  const csrf = random.bytes(32).toString('base64url');
  await sweepStages(database, new Date(now - KEPT_DAYS * 86_400_000));
  // 256 random bits need no pepper: no attacker finds them by trying.
  const hashes = { sessionHash: sha256(session), csrfHash: sha256(csrf) };
  await insertStage(database, { ...hashes, createdAt: new Date(now), expiresAt, of });
  return { session, csrf, expires_at: isoTime(expiresAt) };
}
