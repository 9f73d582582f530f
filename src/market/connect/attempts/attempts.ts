import { sha256 } from '../../../platform/canonical-json.ts';
import type { Database, Tx } from '../../../platform/database/database.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { isPairingCode } from '../../../platform/secrets.ts';
import type { Market, Merchant } from '../../context.ts';
import { authenticate, mustBeOpen } from '../../identity/authenticate.ts';
import { hashesOfCode } from '../../identity/secrets.ts';
import { maybeHandle } from '../../identity/store.ts';
import { takeNetworkQuota } from '../../limits/quotas.ts';
import type { SignInProof } from '../interaction.ts';
import {
  countWrongTry,
  forgetDecision,
  holdAttempt,
  readAttempt,
  recordDecision,
  recordProof,
  redeemCode,
  sweepAttempts,
} from './store.ts';

const MOST_WRONG_TRIES = 5;
const KEPT_MS = 86_400_000;

/** What the user shows on the page: never kept, whatever it is. */
export type Shown = { key: string } | { pairingCode: string };

interface ProofCall {
  uid: string;
  shown: Shown;
  clientNetwork: string;
}

/** Whose store an attempt to connect is about. Every try counts for its network, and five wrong ones end the attempt. */
export async function proveAttempt(market: Market, call: ProofCall): Promise<{ handle: string }> {
  const { clock, database } = market;
  if ('pairingCode' in call.shown) mustBeOpen(market.config, 'pair');
  await takeNetworkQuota(market, 'pair_tries_per_ip_hour', call.clientNetwork);
  const at = new Date(clock.now());
  await sweepAttempts(database, new Date(at.getTime() - KEPT_MS));
  const merchant = 'key' in call.shown ? await authenticate(market, call.shown.key) : null;
  // A wrong try is to be kept, so it is thrown only after the commit.
  const outcome = await database.transaction((tx) => judgeProof(tx, market, call, { merchant, at }));
  if (outcome instanceof Refusal) throw outcome;
  return outcome;
}

async function judgeProof(
  tx: Tx,
  market: Market,
  { uid, shown }: ProofCall,
  { merchant, at }: { merchant: Merchant | null; at: Date },
): Promise<{ handle: string } | Refusal> {
  const hash = sha256(uid);
  const attempt = await holdAttempt(tx, hash, at);
  if (attempt === null || attempt.isDecided || attempt.wrongTries >= MOST_WRONG_TRIES) {
    return new Refusal('connection_closed');
  }
  const proof = 'key' in shown ? proofByKey(merchant) : await proofByCode(tx, market, shown.pairingCode, at);
  if (proof === null) {
    await countWrongTry(tx, hash);
    return new Refusal('key' in shown ? 'key_invalid' : 'pairing_code_refused');
  }
  if (attempt.proof !== null && attempt.proof.merchantId !== proof.merchantId) {
    // Thrown, so that a code is not used up.
    throw new Refusal('connection_closed', { detail: 'This attempt to connect is about another store already.' });
  }
  await recordProof(tx, hash, proof, at);
  return { handle: (await maybeHandle(tx, proof.merchantId)) ?? '' };
}

function proofByKey(merchant: Merchant | null): SignInProof | null {
  return merchant === null ? null : { merchantId: merchant.id, keyId: merchant.keyId, provedBy: 'key' };
}

async function proofByCode(tx: Tx, { config, pepper }: Market, code: string, at: Date): Promise<SignInProof | null> {
  const redeemed = await redeemCode(tx, hashesOfCode(pepper, config.keyPrefix, code, isPairingCode), at);
  return redeemed === null ? null : { ...redeemed, provedBy: 'pairing_code' };
}

type AttemptContext = Pick<Market, 'clock'> & { database: Database };

/** Takes the one yes of an attempt. Its proof must still be worth something. */
export async function allowAttempt({ clock, database }: AttemptContext, uid: string): Promise<SignInProof> {
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
export async function cancelAttempt({ clock, database }: AttemptContext, uid: string): Promise<void> {
  const at = new Date(clock.now());
  const hash = sha256(uid);
  await database.transaction(async (tx) => {
    const attempt = await holdAttempt(tx, hash, at);
    if (attempt === null || attempt.isDecided) throw new Refusal('connection_closed');
    await recordDecision(tx, hash, 'canceled', at);
  });
}

/** Where a yes came to nothing, because the key was replaced in the same moment: another proof may be given. */
export async function reopenAttempt({ database }: Pick<AttemptContext, 'database'>, uid: string): Promise<void> {
  await forgetDecision(database, sha256(uid));
}

interface AttemptStatus {
  /** Nothing more can be proven or allowed in it. */
  isOver: boolean;
  /** The handle of the store that was proven and still is; null: not yet. */
  provenAs: string | null;
}

/** How an attempt stands. Changes nothing. */
export async function readAttemptStatus(
  { database }: Pick<AttemptContext, 'database'>,
  uid: string,
): Promise<AttemptStatus> {
  const attempt = await readAttempt(database, sha256(uid));
  if (attempt === null) return { isOver: false, provenAs: null };
  return {
    isOver: attempt.isDecided || attempt.wrongTries >= MOST_WRONG_TRIES,
    provenAs: attempt.isCurrent ? attempt.handle : null,
  };
}
