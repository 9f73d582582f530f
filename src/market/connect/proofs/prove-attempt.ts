import { sha256 } from '../../../platform/canonical-json.ts';
import type { Tx } from '../../../platform/database/database.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { canonicalCode, isPairingCode } from '../../../platform/secrets.ts';
import type { Market, Merchant, Pepper } from '../../context.ts';
import { authenticate } from '../../identity/authenticate.ts';
import { mustBeOpen } from '../../identity/must-be-open.ts';
import { maybeHandle } from '../../identity/store.ts';
import { takeNetworkQuota } from '../../limits/take-network-quota.ts';
import type { Proof } from '../interaction.ts';
import { countWrongTry, holdAttempt, recordProof, redeemCode, sweepAttempts } from './store.ts';

export const MOST_WRONG_TRIES = 5;
const KEPT_MS = 86_400_000;

/** What the user shows on the page: never kept, whatever it is. */
export type Shown = { key: string } | { pairingCode: string };

export interface ProofCall {
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
  const outcome = await database.transaction((tx) => judge(tx, market, call, { merchant, at }));
  if (outcome instanceof Refusal) throw outcome;
  return outcome;
}

async function judge(
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

function proofByKey(merchant: Merchant | null): Proof | null {
  return merchant === null ? null : { merchantId: merchant.id, keyId: merchant.keyId, provedBy: 'key' };
}

async function proofByCode(tx: Tx, { config, pepper }: Market, code: string, at: Date): Promise<Proof | null> {
  const redeemed = await redeemCode(tx, hashesOfPairingCode(pepper, config.keyPrefix, code), at);
  return redeemed === null ? null : { ...redeemed, provedBy: 'pairing_code' };
}

/** As typed, in any case. A text that is no code is hashed and looked up like one, so that it takes as long to refuse. */
function hashesOfPairingCode(pepper: Pepper, prefix: string, code: string): Buffer[] {
  const text = code.trim();
  const spelled = canonicalCode(text, prefix);
  return pepper.hashes(isPairingCode(text, prefix) ? spelled : `not a code: ${spelled}`).map(({ hash }) => hash);
}
