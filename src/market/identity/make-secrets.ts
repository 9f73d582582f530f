import { RECOVERY_CODE_COUNT } from '../../contract/vocabulary.ts';
import type { Random } from '../../platform/random.ts';
import { makeMerchantKey, makeRecoveryCode } from '../../platform/secret-format.ts';
import type { Pepper } from '../context.ts';
import type { SecretHashes } from './store.ts';

export interface MadeSecrets {
  /** Shown once, stored nowhere. */
  key: string;
  codes: string[];
  hashes: SecretHashes;
}

/** A fresh key with its eight codes, and what is kept of them. */
export function makeSecrets(from: { random: Random; pepper: Pepper; keyPrefix: string }): MadeSecrets {
  const { random, pepper, keyPrefix } = from;
  const key = makeMerchantKey(random, keyPrefix);
  const codes = Array.from({ length: RECOVERY_CODE_COUNT }, () => makeRecoveryCode(random, keyPrefix));
  return {
    key,
    codes,
    hashes: {
      pepperVersion: pepper.version,
      keyHash: pepper.hash(key),
      codeHashes: codes.map((code) => pepper.hash(code)),
    },
  };
}
