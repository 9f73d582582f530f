import { decrypt, encrypt, scrypt, toKey } from 'ox/Keystore';
import { type Hex, isHex } from 'viem';
import { z } from 'zod';
import { ofOwner, own } from '../contract/own-words.ts';
import { type AgentError, refusedFile } from './agent-error.ts';

const ADDRESS = /^(?:0x)?[0-9a-fA-F]{40}$/;
const KEY = /^(?:0x)?[0-9a-fA-F]{64}$/;
const hex = z.string().regex(/^(?:[0-9a-fA-F]{2})+$/);

const plain = z.strictObject({
  version: z.literal(1),
  address: z.string().regex(ADDRESS),
  private_key: z.string().regex(KEY),
});

/** Limit on scrypt work. More would take minutes, or more memory than a machine has. */
const MAX_WORK = 2 ** 22;
const shared = { dklen: z.literal(32), salt: hex };
const cipher = {
  cipher: z.literal('aes-128-ctr'),
  ciphertext: hex,
  cipherparams: z.looseObject({ iv: hex }),
  mac: hex,
};
const keystore = z.looseObject({
  version: z.literal(3),
  id: z.string().default(''),
  address: z.string().regex(ADDRESS).optional(),
  crypto: z.discriminatedUnion('kdf', [
    z.looseObject({
      ...cipher,
      kdf: z.literal('scrypt'),
      kdfparams: z
        .looseObject({ ...shared, n: z.int().min(2), r: z.int().min(1), p: z.int().min(1) })
        .refine(({ n, r, p }) => n * r * p <= MAX_WORK),
    }),
    z.looseObject({
      ...cipher,
      kdf: z.literal('pbkdf2'),
      kdfparams: z.looseObject({ ...shared, c: z.int().min(1).max(10_000_000), prf: z.literal('hmac-sha256') }),
    }),
  ]),
});
type StoredKeystore = z.output<typeof keystore>;

export type WalletFile =
  | { kind: 'plain'; address: string | null; key: Hex }
  | { kind: 'keystore'; address: string | null; unlock(passphrase: string): Hex };

/** Parses JSON with `version` 1 or 3 (Web3 keystore), or one line of 64 hex digits. Errors never quote the text. */
export function readWalletText(text: string, path: string): WalletFile {
  const line = text.trim();
  if (KEY.test(line)) return { kind: 'plain', address: null, key: keyOf(line) };
  let read: unknown;
  try {
    read = JSON.parse(line);
  } catch {
    throw noWallet(path);
  }
  const asPlain = plain.safeParse(read);
  if (asPlain.success) {
    const { address, private_key } = asPlain.data;
    return { kind: 'plain', address: withPrefix(address), key: keyOf(private_key) };
  }
  const asKeystore = keystore.safeParse(read);
  if (!asKeystore.success) throw noWallet(path);
  const { data } = asKeystore;
  return {
    kind: 'keystore',
    address: data.address === undefined ? null : withPrefix(data.address),
    unlock: (passphrase) => unlockKeystore(data, passphrase, path),
  };
}

function noWallet(path: string): AgentError {
  return refusedFile(
    own`${ofOwner(path)} isn’t a wallet file: expected 64 hex digits, JSON with address and private_key, or a version 3 keystore`,
    own`Run openaisle wallet new to create one, or name another with --wallet.`,
    'wallet_refused',
  );
}

// Uses the synchronous form, because the asynchronous one assumes the library's own r and p, and other programs' files differ.
function unlockKeystore(stored: StoredKeystore, passphrase: string, path: string): Hex {
  try {
    const key = decrypt(stored, toKey(stored, { password: passphrase }));
    if (isHex(key) && KEY.test(key)) return key;
  } catch {
    // The error is reported below, without the library's message, which may quote the key.
  }
  throw refusedFile(own`${ofOwner(path)} can’t be opened with this passphrase`, own`Try again.`, 'passphrase_refused');
}

/** Returns the text of a new file. With a passphrase it is a Web3 keystore (version 3), which takes about two seconds. */
export function printWallet(key: Hex, address: Hex, passphrase?: string): string {
  if (passphrase === undefined) return `${JSON.stringify({ version: 1, address, private_key: key }, null, 2)}\n`;
  const [derived, options] = scrypt({ password: passphrase });
  const stored = { ...encrypt(key, derived, options), address: address.slice(2).toLowerCase() };
  return `${JSON.stringify(stored, null, 2)}\n`;
}

/** Parses 64 hex digits with or without 0x. Returns null for anything else. */
export function readKeyText(text: string): Hex | null {
  const line = text.trim();
  return KEY.test(line) ? keyOf(line) : null;
}

function keyOf(digits: string): Hex {
  return withPrefix(digits.toLowerCase());
}

function withPrefix(digits: string): Hex {
  return `0x${digits.replace(/^0x/, '')}`;
}
