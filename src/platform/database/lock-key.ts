import { createHash } from 'node:crypto';

/** The int8 an advisory lock is taken under. The kind keeps locks of a session and of a transaction out of each other's way. */
export function lockKey(kind: 'session' | 'transaction' | 'migration', key: string): bigint {
  return createHash('sha256').update(`${kind}:${key}`).digest().readBigInt64BE(0);
}
