import { chmod, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testAccount } from '../local/chain/accounts.ts';
import { createWallet, defaultWalletFile, openWallet, readWalletAddress } from './open-wallet.ts';

const { key, signer } = testAccount('wallet of an agent');
const other = testAccount('wallet of another agent');
const digits = key.slice(2);
const PASSPHRASE = 'correct horse battery';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-wallet-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function fileOf(name: string, text: string, mode = 0o600): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text, { mode });
  await chmod(path, mode);
  return path;
}

/** All text that an error could show to a person, a log or a language model. */
function shownOf(error: unknown): string {
  const causes: unknown[] = [];
  for (let one = error; one instanceof Error; one = one.cause) causes.push(one);
  return causes.map((one) => `${inspect(one, { depth: 9, showHidden: true })} ${JSON.stringify(one)}`).join('\n');
}

describe('where the key comes from', () => {
  test('a bare line, with or without 0x, and a file with its address', async () => {
    const texts = [
      `${key}\n`,
      digits.toUpperCase(),
      JSON.stringify({ version: 1, address: signer.address, private_key: key }),
    ];
    for (const [index, text] of texts.entries()) {
      const file = await fileOf(`key-${index}`, text);
      expect((await openWallet({ file, env: {} })).address).toBe(signer.address);
    }
  });

  test('the named file wins over the variable, and the variable over the default file', async () => {
    const env = { XDG_CONFIG_HOME: join(folder, 'config'), OPENAISLE_WALLET_KEY: other.key };
    const made = await createWallet(defaultWalletFile(env));
    expect((await openWallet({ env })).address).toBe(other.signer.address);
    expect((await openWallet({ env: { ...env, OPENAISLE_WALLET_KEY: '' } })).address).toBe(made.address);
    const file = await fileOf('named', key);
    expect((await openWallet({ file, env })).address).toBe(signer.address);
    expect(await readWalletAddress({ env })).toBe(other.signer.address);
  });

  test('a keystore is made, tells its address without the passphrase, and opens with the right one only', async () => {
    const path = join(folder, 'deep', 'keystore.json');
    const { address } = await createWallet(path, { passphrase: PASSPHRASE });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ version: 3, crypto: { kdf: 'scrypt' } });
    expect((await readWalletAddress({ file: path, env: {} })).toLowerCase()).toBe(address.toLowerCase());
    await expect(openWallet({ file: path, env: {} })).rejects.toMatchObject({ parts: { reason: 'passphrase_needed' } });
    const env = { OPENAISLE_WALLET_PASSPHRASE: PASSPHRASE };
    expect((await openWallet({ file: path, env })).address).toBe(address);
    const wrong = openWallet({ file: path, env: {}, passphrase: async () => 'wrong' });
    await expect(wrong).rejects.toMatchObject({ parts: { reason: 'passphrase_refused' } });
  }, 60_000);

  test('a keystore of another program, with numbers of its own, is opened', async () => {
    // The published test vector of the Web3 secret storage definition (pbkdf2).
    const vector = {
      crypto: {
        cipher: 'aes-128-ctr',
        cipherparams: { iv: '6087dab2f9fdbbfaddc31a909735c1e6' },
        ciphertext: '5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46',
        kdf: 'pbkdf2',
        kdfparams: {
          ...{ c: 262_144, dklen: 32, prf: 'hmac-sha256' },
          salt: 'ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd',
        },
        mac: '517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2',
      },
      id: '3198bc9c-6672-5ab3-d995-4942343ae5b6',
      version: 3,
    };
    const file = await fileOf('vector', JSON.stringify(vector));
    const wallet = await openWallet({ file, env: { OPENAISLE_WALLET_PASSPHRASE: 'testpassword' } });
    expect(wallet.address.toLowerCase()).toBe('0x008aeeda4d805471df9b2a5b0f38a0c3bcba786b');
  }, 60_000);

  test('a new file never takes the place of another', async () => {
    const path = join(folder, 'kept');
    await createWallet(path);
    const before = await readFile(path, 'utf8');
    await expect(createWallet(path)).rejects.toMatchObject({ parts: { reason: 'file_exists' } });
    expect(await readFile(path, 'utf8')).toBe(before);
  });
});

describe('what is refused', () => {
  const bad: [string, string, number, string][] = [
    ['a file that others can read', key, 0o644, 'file_refused'],
    ['a line that is too short', key.slice(0, -1), 0o600, 'wallet_refused'],
    ['digits that are no key', '0'.repeat(64), 0o600, 'wallet_refused'],
    [
      'an address of another key',
      JSON.stringify({ version: 1, address: other.address, private_key: key }),
      0o600,
      'wallet_refused',
    ],
    [
      'a field too many',
      JSON.stringify({ version: 1, address: signer.address, private_key: key, x: 1 }),
      0o600,
      'wallet_refused',
    ],
    ['half a file', `{"version":1,"private_key":"${key}`, 0o600, 'wallet_refused'],
  ];
  test.each(bad)('%s, without showing the key', async (name, text, mode, reason) => {
    const file = await fileOf(`bad ${name}`, text, mode);
    const error = await openWallet({ file, env: {} }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'AgentError', parts: { reason } });
    expect(shownOf(error).toLowerCase()).not.toContain(digits.slice(0, 12));
  });

  test('a link, a missing file, a variable that is no key', async () => {
    const link = join(folder, 'link');
    await symlink(await fileOf('target', key), link);
    await expect(openWallet({ file: link, env: {} })).rejects.toMatchObject({ parts: { reason: 'file_refused' } });
    const env = { XDG_CONFIG_HOME: join(folder, 'empty') };
    await expect(openWallet({ env })).rejects.toMatchObject({ parts: { reason: 'no_wallet' } });
    const bare = openWallet({ env: { ...env, OPENAISLE_WALLET_KEY: digits.slice(1) } });
    const error = await bare.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ parts: { reason: 'wallet_refused' } });
    expect(shownOf(error)).not.toContain(digits.slice(1, 12));
  });

  test('an open wallet shows no key, also when it cannot sign', async () => {
    const wallet = await openWallet({ env: { OPENAISLE_WALLET_KEY: key } });
    expect(inspect(wallet, { depth: 9, showHidden: true, getters: true })).not.toContain(digits.slice(0, 12));
    expect(JSON.stringify(wallet)).not.toContain(digits.slice(0, 12));
    const bad = { domain: {}, types: {}, primaryType: 'Nothing', message: { from: key } } as unknown;
    const error = await wallet.signTypedData(bad as never).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'AgentError' });
    expect(shownOf(error)).not.toContain(digits.slice(0, 12));
  });
});
