import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { PrivateKeyAccount } from 'viem/accounts';
import { ConfigError } from '../platform/config.ts';
import { isHex } from '../platform/hex.ts';
import { makeAccount } from './make-account.ts';

const SIZE_LIMIT_BYTES = 200;

/** The signing key, from a file that no other user of the machine can read. What goes wrong is told without the key. */
export async function readKeyFile(path: string): Promise<PrivateKeyAccount> {
  const file = await openFile(path);
  try {
    const { mode, size } = await file.stat().then((stats) => {
      if (!stats.isFile()) throw new ConfigError(['FACILITATOR_KEY_FILE must be a regular file']);
      return stats;
    });
    // Asked of the open file, so that the file cannot be exchanged in between.
    if ((mode & 0o777) !== 0o600) {
      const found = (mode & 0o777).toString(8).padStart(4, '0');
      throw new ConfigError([`FACILITATOR_KEY_FILE must have mode 0600, it has ${found}: chmod 600 it`]);
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
    // Not blocking, or a pipe under this name would hold the start for ever.
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
    // The error of the library may quote the key.
    throw notAKey();
  }
}

function notAKey(): ConfigError {
  return new ConfigError(['FACILITATOR_KEY_FILE must hold a private key: 64 hex digits, with or without 0x']);
}
