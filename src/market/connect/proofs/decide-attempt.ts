import { sha256 } from '../../../platform/canonical-json.ts';
import type { Database } from '../../../platform/database/database.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import type { Proof } from '../interaction.ts';
import { MOST_WRONG_TRIES } from './prove-attempt.ts';
import { forgetDecision, holdAttempt, readAttempt, recordDecision } from './store.ts';

type Needs = Pick<Market, 'clock'> & { database: Database };

/** Takes the one yes of an attempt. Its proof must still be worth something. */
export async function allowAttempt({ clock, database }: Needs, uid: string): Promise<Proof> {
  const at = new Date(clock.now());
  const hash = sha256(uid);
  return await database.transaction(async (tx) => {
    const attempt = await holdAttempt(tx, hash, at);
    if (attempt === null || attempt.isDecided || attempt.wrongTries >= MOST_WRONG_TRIES) {
      throw new Refusal('connection_closed');
    }
    if (attempt.proof === null) throw new Refusal('proof_missing');
    if (!attempt.isCurrent) {
      throw new Refusal('proof_missing', { detail: 'The key was replaced after it, or the code of it, was given.' });
    }
    await recordDecision(tx, hash, 'allowed', at);
    return attempt.proof;
  });
}

/** Takes the one no, which needs no proof and is heard after wrong tries too. */
export async function cancelAttempt({ clock, database }: Needs, uid: string): Promise<void> {
  const at = new Date(clock.now());
  const hash = sha256(uid);
  await database.transaction(async (tx) => {
    const attempt = await holdAttempt(tx, hash, at);
    if (attempt === null || attempt.isDecided) throw new Refusal('connection_closed');
    await recordDecision(tx, hash, 'canceled', at);
  });
}

/** Where a yes came to nothing, because the key was replaced in the same moment: another proof may be given. */
export async function reopenAttempt({ database }: Pick<Needs, 'database'>, uid: string): Promise<void> {
  await forgetDecision(database, sha256(uid));
}

export interface AttemptStanding {
  /** Nothing more can be proven or allowed in it. */
  isOver: boolean;
  /** The handle of the store that was proven and still is; null: not yet. */
  provenAs: string | null;
}

/** How an attempt stands. Changes nothing. */
export async function readStanding({ database }: Pick<Needs, 'database'>, uid: string): Promise<AttemptStanding> {
  const attempt = await readAttempt(database, sha256(uid));
  if (attempt === null) return { isOver: false, provenAs: null };
  return {
    isOver: attempt.isDecided || attempt.wrongTries >= MOST_WRONG_TRIES,
    provenAs: attempt.isCurrent ? attempt.handle : null,
  };
}
