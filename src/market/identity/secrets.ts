import { RECOVERY_CODE_COUNT } from '../../contract/vocabulary.ts';
import type { Random } from '../../platform/random.ts';
import { canonicalCode, isRecoveryCode, makeMerchantKey, makeRecoveryCode } from '../../platform/secrets.ts';
import type { KeyHash } from '../../platform/staged-key.ts';
import type { Pepper } from '../context.ts';
import type { SecretHashes } from './stages/store.ts';

interface SecretSource {
  random: Random;
  pepper: Pepper;
  keyPrefix: string;
}

export interface MadeSecrets {
  /** Shown once, stored nowhere. */
  key: string;
  codes: string[];
  hashes: SecretHashes;
}

/** A fresh key, and what is kept of it. */
export function makeKey({ random, pepper, keyPrefix }: SecretSource): { key: string; hashes: KeyHash } {
  const key = makeMerchantKey(random, keyPrefix);
  return { key, hashes: { pepperVersion: pepper.version, keyHash: pepper.hash(key) } };
}

/** A fresh set of codes, and what is kept of them. */
export function makeCodes({ random, pepper, keyPrefix }: SecretSource): { codes: string[]; codeHashes: Buffer[] } {
  const codes = Array.from({ length: RECOVERY_CODE_COUNT }, () => makeRecoveryCode(random, keyPrefix));
  return { codes, codeHashes: codes.map((code) => pepper.hash(code)) };
}

/** A fresh key with its eight codes. */
export function makeSecrets(from: SecretSource): MadeSecrets {
  const { key, hashes } = makeKey(from);
  const { codes, codeHashes } = makeCodes(from);
  return { key, codes, hashes: { ...hashes, codeHashes } };
}

/** What a presented code is looked up by. A text that is no code is hashed and looked up like one, so that it takes as long to refuse. */
export function hashesOfCode(pepper: Pepper, prefix: string, code: string, isCode = isRecoveryCode): Buffer[] {
  const text = code.trim();
  const spelled = canonicalCode(text, prefix);
  // What stands before the code is part of it: the canonical spelling alone would overlook a wrong one.
  return pepper.hashes(isCode(text, prefix) ? spelled : `not a code: ${spelled}`).map(({ hash }) => hash);
}
