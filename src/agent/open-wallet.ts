import { join, resolve } from 'node:path';
import { bytesToHex, getAddress, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { ofOwner, own } from '../contract/own-words.ts';
import { type Environment, systemEnvironment } from '../sdk/environment.ts';
import type { Wallet } from '../sdk/payments/payment-proof.ts';
import { AgentError, refusedFile } from './agent-error.ts';
import { type ExportSigner, exportToSign } from './export/export-signature.ts';
import { configFolder, type Env } from './folders.ts';
import { lockFile } from './lock-file.ts';
import { makeFolderOf, readPrivate, writePrivate } from './private-file.ts';
import { printWallet, readKeyText, readWalletText, type WalletFile } from './wallet-file.ts';

export type OwnWallet = Wallet & ExportSigner;

export interface WalletSource {
  /** Wallet file; overrides the environment. */
  file?: string | undefined;
  /** Source of OPENAISLE_WALLET_KEY (64 hex digits), OPENAISLE_WALLET_PASSPHRASE, and the variables of `configFolder`. */
  env: Env;
  /** Asks for a keystore's passphrase if the environment has none. */
  passphrase?: (() => Promise<string>) | undefined;
}

/** Returns `wallet.json` in the config folder, usually `~/.config/openaisle`. */
export function defaultWalletFile(env: Env): string {
  return join(configFolder(env), 'wallet.json');
}

/**
 * Opens the wallet of the named file, else of OPENAISLE_WALLET_KEY, else of the default file. Refuses a file that others can read.
 * The key stays inside the returned object. Throws `no_wallet`, `wallet_refused`, `passphrase_needed`, `passphrase_refused`,
 * `file_refused`.
 */
export async function openWallet({ file, env, passphrase }: WalletSource): Promise<OwnWallet> {
  const keyText = env['OPENAISLE_WALLET_KEY'];
  if (file === undefined && keyText !== undefined && keyText !== '') return walletOfVariable(keyText);
  const path = file === undefined ? defaultWalletFile(env) : resolve(file);
  const stored = await readWalletFile(path);
  const key = stored.kind === 'plain' ? stored.key : stored.unlock(await findPassphrase(env, path, passphrase));
  const wallet = walletOf(key);
  if (wallet === null || (stored.address !== null && stored.address.toLowerCase() !== wallet.address.toLowerCase()))
    throw refusedFile(
      own`The key in ${ofOwner(path)} doesn’t belong to the address in it`,
      undefined,
      'wallet_refused',
    );
  return wallet;
}

/** Reads only the address, without unlocking a keystore that states it. Throws like `openWallet`. */
export async function readWalletAddress(source: WalletSource): Promise<Hex> {
  const isFromVariable = source.file === undefined && (source.env['OPENAISLE_WALLET_KEY'] ?? '') !== '';
  if (isFromVariable) return (await openWallet(source)).address;
  const path = source.file === undefined ? defaultWalletFile(source.env) : resolve(source.file);
  const stored = await readWalletFile(path);
  if (stored.kind === 'keystore' && stored.address !== null) return getAddress(stored.address);
  return (await openWallet(source)).address;
}

/** Writes a new key to a new file of mode 0600, as a keystore if there is a passphrase. Never overwrites a file; throws `file_exists`. */
export async function createWallet(
  path: string,
  {
    passphrase,
    environment = systemEnvironment,
  }: { passphrase?: string; environment?: Pick<Environment, 'randomBytes'> } = {},
): Promise<{ address: Hex; path: string }> {
  const full = resolve(path);
  await makeFolderOf(full);
  const lock = await lockFile(full);
  try {
    const key = bytesToHex(environment.randomBytes(32));
    const wallet = walletOf(key);
    if (wallet === null)
      throw new AgentError('unknown', { reason: 'unexpected', title: own`A key couldn’t be created` });
    await writePrivate(full, printWallet(key, wallet.address, passphrase), 'new');
    return { address: wallet.address, path: full };
  } finally {
    await lock.release();
  }
}

async function readWalletFile(path: string): Promise<WalletFile> {
  const text = await readPrivate(path);
  if (text !== null) return readWalletText(text, path);
  throw new AgentError('wrong_use', {
    reason: 'no_wallet',
    title: own`There is no wallet at ${ofOwner(path)}`,
    nextStep: own`Run openaisle wallet new, name a wallet with --wallet FILE, or set OPENAISLE_WALLET_KEY.`,
  });
}

async function findPassphrase(env: Env, path: string, ask: WalletSource['passphrase']): Promise<string> {
  const passphrase = env['OPENAISLE_WALLET_PASSPHRASE'];
  if (passphrase !== undefined && passphrase !== '') return passphrase;
  if (ask !== undefined) return ask();
  const nextStep = own`Set OPENAISLE_WALLET_PASSPHRASE, or run this in a terminal.`;
  throw new AgentError('wrong_use', {
    reason: 'passphrase_needed',
    title: own`${ofOwner(path)} is encrypted`,
    nextStep,
  });
}

function walletOfVariable(text: string): OwnWallet {
  const key = readKeyText(text);
  const wallet = key === null ? null : walletOf(key);
  if (wallet !== null) return wallet;
  const title = own`OPENAISLE_WALLET_KEY isn’t a private key (64 hex digits, with or without 0x)`;
  throw new AgentError('wrong_use', { reason: 'wallet_refused', title });
}

/**
 * Returns null if the digits aren't a key on the curve. The wallet exposes only its address and two ways to sign. Errors drop the library's
 * message, because it may quote the key.
 */
function walletOf(key: Hex): OwnWallet | null {
  let account: ReturnType<typeof privateKeyToAccount>;
  try {
    account = privateKeyToAccount(key);
  } catch {
    return null;
  }
  return Object.freeze({
    address: account.address,
    signTypedData: (typed: Parameters<Wallet['signTypedData']>[0]) => signOrFail(() => account.signTypedData(typed)),
    signExport: (digest: Hex) => signOrFail(() => account.signTypedData(exportToSign(account.address, digest))),
  });
}

async function signOrFail(sign: () => Promise<Hex>): Promise<Hex> {
  try {
    return await sign();
  } catch {
    throw new AgentError('unknown', { reason: 'unexpected', title: own`The wallet couldn’t sign` });
  }
}
