import { sha256 } from '../../../platform/canonical-json.ts';
import type { Database, Tx } from '../../../platform/database/database.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { isPairingCode } from '../../../platform/secrets.ts';
import type { Market, Merchant } from '../../context.ts';
import { authenticate, mustBeOpen } from '../../identity/authenticate.ts';
import { hashesOfCode } from '../../identity/secrets.ts';
import { findHandleOrNull } from '../../identity/store.ts';
import { takeNetworkQuota } from '../../limits/quotas.ts';
import type { SignInProof } from '../interaction.ts';
import {
  countWrongTry,
  forgetDecision,
  lockAttempt,
  readAttempt,
  recordDecision,
  recordProof,
  redeemCode,
  sweepAttempts,
} from './store.ts';

const MAX_WRONG_TRIES = 5;
const RETENTION_MS = 86_400_000;

/** The secret that the user enters on the page. It is never stored. */
export type Shown = { key: string } | { pairingCode: string };

interface ProofCall {
  uid: string;
  shown: Shown;
  clientNetwork: string;
}

/**
 * Checks the key or pairing code that the user entered, and records which store the attempt to connect is for. Every try counts against the
 * client network's quota, and five wrong tries end the attempt.
 */
export async function proveAttempt(market: Market, call: ProofCall): Promise<{ handle: string }> {
  const { clock, database } = market;
  if ('pairingCode' in call.shown) mustBeOpen(market.config, 'pair');
  await takeNetworkQuota(market, 'pair_tries_per_ip_hour', call.clientNetwork);
  const at = new Date(clock.now());
  await sweepAttempts(database, new Date(at.getTime() - RETENTION_MS));
  const merchant = 'key' in call.shown ? await authenticate(market, call.shown.key) : null;
  // Throw only after the commit, because a rollback would lose the wrong try.
  const outcome = await database.transaction((tx) => checkProof(tx, market, call, { merchant, at }));
  if (outcome instanceof Refusal) throw outcome;
  return outcome;
}

async function checkProof(
  tx: Tx,
  market: Market,
  { uid, shown }: ProofCall,
  { merchant, at }: { merchant: Merchant | null; at: Date },
): Promise<{ handle: string } | Refusal> {
  const hash = sha256(uid);
  const attempt = await lockAttempt(tx, hash, at);
  if (attempt === null || attempt.isDecided || attempt.wrongTries >= MAX_WRONG_TRIES) {
    return new Refusal('connection_closed');
  }
  const proof = 'key' in shown ? proofByKey(merchant) : await proofByCode(tx, market, shown.pairingCode, at);
  if (proof === null) {
    await countWrongTry(tx, hash);
    return new Refusal('key' in shown ? 'key_invalid' : 'pairing_code_refused');
  }
  if (attempt.proof !== null && attempt.proof.merchantId !== proof.merchantId) {
    // Throw, because the rollback keeps the code usable.
    throw new Refusal('connection_closed', { detail: 'This attempt to connect is already about another store.' });
  }
  await recordProof(tx, hash, proof, at);
  return { handle: (await findHandleOrNull(tx, proof.merchantId)) ?? '' };
}

function proofByKey(merchant: Merchant | null): SignInProof | null {
  return merchant === null ? null : { merchantId: merchant.id, keyId: merchant.keyId, provedBy: 'key' };
}

async function proofByCode(tx: Tx, { config, pepper }: Market, code: string, at: Date): Promise<SignInProof | null> {
  const redeemed = await redeemCode(tx, hashesOfCode(pepper, config.keyPrefix, code, isPairingCode), at);
  return redeemed === null ? null : { ...redeemed, provedBy: 'pairing_code' };
}

type AttemptContext = Pick<Market, 'clock'> & { database: Database };

/** Records the user's consent, once. Refuses if the key was replaced since the proof. */
export async function allowAttempt({ clock, database }: AttemptContext, uid: string): Promise<SignInProof> {
  const at = new Date(clock.now());
  const hash = sha256(uid);
  return await database.transaction(async (tx) => {
    const attempt = await lockAttempt(tx, hash, at);
    if (attempt === null || attempt.isDecided || attempt.wrongTries >= MAX_WRONG_TRIES) {
      throw new Refusal('connection_closed');
    }
    if (attempt.proof === null) throw new Refusal('proof_missing');
    if (!attempt.isCurrent) {
      throw new Refusal('proof_missing', { detail: 'The key was replaced after you entered it or its pairing code.' });
    }
    await recordDecision(tx, hash, 'allowed', at);
    return attempt.proof;
  });
}

/** Records the user's refusal, once. It needs no proof and works even after too many wrong tries. */
export async function cancelAttempt({ clock, database }: AttemptContext, uid: string): Promise<void> {
  const at = new Date(clock.now());
  const hash = sha256(uid);
  await database.transaction(async (tx) => {
    const attempt = await lockAttempt(tx, hash, at);
    if (attempt === null || attempt.isDecided) throw new Refusal('connection_closed');
    await recordDecision(tx, hash, 'canceled', at);
  });
}

/** Undoes a consent that failed because the key was replaced at the same moment, so that another proof can be given. */
export async function reopenAttempt({ database }: Pick<AttemptContext, 'database'>, uid: string): Promise<void> {
  await forgetDecision(database, sha256(uid));
}

interface AttemptStatus {
  /** True if no further proof or consent is accepted. */
  isOver: boolean;
  /** Handle of the proven store. Null if none is proven or its key was replaced. */
  provenAs: string | null;
}

export async function readAttemptStatus(
  { database }: Pick<AttemptContext, 'database'>,
  uid: string,
): Promise<AttemptStatus> {
  const attempt = await readAttempt(database, sha256(uid));
  if (attempt === null) return { isOver: false, provenAs: null };
  return {
    isOver: attempt.isDecided || attempt.wrongTries >= MAX_WRONG_TRIES,
    provenAs: attempt.isCurrent ? attempt.handle : null,
  };
}
