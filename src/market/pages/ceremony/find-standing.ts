import { STAGE_MINUTES } from '../../../contract/vocabulary.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { findOwnStage } from '../../identity/stages/stages.ts';
import type { StageOf } from '../../identity/stages/store.ts';
import { readStageCookie, type StageCookie } from './stage-cookie.ts';

/** What this browser has begun, and what has become of it. */
export type Standing =
  | { is: 'none' }
  | (Begun & { is: 'open' })
  | (Begun & { is: 'confirmed' | 'canceled' | 'superseded' | 'expired' });

export type OpenStanding = Extract<Standing, { is: 'open' }>;
export type OverStanding = Exclude<Standing, { is: 'open' | 'none' }>;

interface Begun {
  cookie: StageCookie;
  shownAt: Date;
  expiresAt: Date;
  of: StageOf;
}

/** A cookie that names no stage, such as one that another site has set, counts as none. */
export async function findStanding(
  { database, clock }: Pick<Market, 'database' | 'clock'>,
  cookies: Readonly<Record<string, string>>,
): Promise<Standing> {
  const cookie = readStageCookie(cookies);
  if (cookie === null) return { is: 'none' };
  try {
    const { of, expiresAt, closedAs } = await findOwnStage(database, cookie.kind, cookie, { lock: false });
    const shownAt = new Date(expiresAt.getTime() - STAGE_MINUTES * 60_000);
    const isOver = clock.now() >= expiresAt.getTime();
    return { is: closedAs ?? (isOver ? 'expired' : 'open'), cookie, shownAt, expiresAt, of };
  } catch (error) {
    if (error instanceof Refusal && error.reason === 'not_found') return { is: 'none' };
    throw error;
  }
}
