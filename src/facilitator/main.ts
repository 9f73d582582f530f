import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { signRecoverable } from 'tiny-secp256k1';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { keccak256, serializeTransaction } from 'viem/utils';
import { ConfigError } from '../platform/config.ts';
import { crashAt, readCrash, warnOfCrash } from '../platform/crash-points.ts';
import { type Hex, isHex, toBytes, toHex } from '../platform/hex.ts';
import { createLog } from '../platform/log.ts';
import { readFacilitatorConfig } from './config.ts';
import { CRASH_POINTS } from './crash-points.ts';
import { createFacilitator } from './create-facilitator.ts';

const SIZE_LIMIT_BYTES = 200;

/** Reads the signing key from a file that no other user can read. Errors never quote the key. */
async function readKeyFile(path: string): Promise<PrivateKeyAccount> {
  const file = await openFile(path);
  try {
    const { mode, size } = await file.stat().then((stats) => {
      if (!stats.isFile()) throw new ConfigError(['FACILITATOR_KEY_FILE must be a regular file']);
      return stats;
    });
    // Check the open file, so that nobody can replace it in between.
    if ((mode & 0o777) !== 0o600) {
      const actual = (mode & 0o777).toString(8).padStart(4, '0');
      throw new ConfigError([`FACILITATOR_KEY_FILE must have mode 0600, it has ${actual}: chmod 600 it`]);
    }
    const text = size > SIZE_LIMIT_BYTES ? '' : (await file.readFile('utf8')).trim().toLowerCase();
    const key = text.startsWith('0x') ? text : `0x${text}`;
    if (!isHex(key, 32)) throw notAKey();
    return accountOf(key);
  } finally {
    await file.close();
  }
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    // Open without blocking, because a pipe with this name would block the start for ever.
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    const why = code === 'ELOOP' ? 'it is a symbolic link' : code;
    throw new ConfigError([`FACILITATOR_KEY_FILE must be a regular file that can be read (${why})`]);
  }
}

function accountOf(key: `0x${string}`): PrivateKeyAccount {
  try {
    return makeAccount(key);
  } catch {
    throw notAKey();
  }
}

function notAKey(): ConfigError {
  return new ConfigError(['FACILITATOR_KEY_FILE must hold a private key: 64 hex digits, with or without 0x']);
}

/** The signature shape that viem's serializers accept. */
interface DigestSignature {
  r: Hex;
  s: Hex;
  v: bigint;
  yParity: 0 | 1;
}

/** Signs by RFC 6979 with the lower s, so the result equals viem's. About three times as fast as viem's JavaScript. */
export function signDigest(key: Uint8Array, digest: Hex): DigestSignature {
  const { signature, recoveryId } = signRecoverable(toBytes(digest), key);
  // For one signature in 2^127, r exceeds the curve order. A transaction cannot encode that.
  if (recoveryId !== 0 && recoveryId !== 1) throw new Error('the signature cannot be encoded in a transaction');
  const [r, s] = [toHex(signature.subarray(0, 32)), toHex(signature.subarray(32))];
  return { r, s, v: BigInt(27 + recoveryId), yParity: recoveryId };
}

/** A viem account whose transactions are signed by `signDigest`. viem signs everything else. */
export function makeAccount(key: Hex): PrivateKeyAccount {
  const secret = toBytes(key);
  return {
    ...privateKeyToAccount(key),
    async signTransaction(transaction, options) {
      const serializer = options?.serializer ?? serializeTransaction;
      // Blob sidecars are not part of the signed bytes.
      const signed = transaction.type === 'eip4844' ? { ...transaction, sidecars: false } : transaction;
      const signature = signDigest(secret, keccak256(await serializer(signed)));
      return serializer(transaction, signature);
    },
  };
}

async function main(): Promise<void> {
  const { keyFile, ...config } = readFacilitatorConfig(process.env);
  const crash = readCrash(process.env, CRASH_POINTS);
  const account = await readKeyFile(keyFile);
  const log = createLog({ hide: [config.rpcUrl, config.auth ?? ''] });
  if (crash !== null) warnOfCrash(log, crash);
  const dying = crash === null ? {} : { crashPoint: crashAt(crash) };
  const facilitator = await createFacilitator({ ...config, account, log, ...dying });
  const stop = (signal: NodeJS.Signals): void => {
    log.info('facilitator_stopping', { signal });
    facilitator.close().then(
      () => log.info('facilitator_stopped'),
      (error: unknown) => {
        log.error('facilitator_not_stopped', { error });
        process.exitCode = 1;
      },
    );
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

main().catch((error: unknown) => {
  // The message is for the operator and contains no secret, and a stack would only distract.
  const expected = error instanceof ConfigError || (error instanceof Error && /^FACILITATOR_/.test(error.message));
  console.error(expected && error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
