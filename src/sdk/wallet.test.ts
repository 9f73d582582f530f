import { inspect } from 'node:util';
import { verifyMessage } from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { expect, test } from 'vitest';
import { walletFromKey } from './wallet.ts';

test('a wallet signs as its key, and shows the address alone', async () => {
  const key = generatePrivateKey();
  const wallet = walletFromKey(key);
  expect(wallet.address).toBe(privateKeyToAddress(key));
  const signature = await wallet.signMessage({ message: 'mine' });
  expect(await verifyMessage({ address: wallet.address, message: 'mine', signature })).toBe(true);
  const shown = inspect(wallet, { depth: 9, showHidden: true }) + JSON.stringify(wallet);
  expect(shown).toContain(wallet.address);
  expect(shown).not.toContain(key.slice(2));
});

test('a key is taken without 0x and in any case', () => {
  const key = generatePrivateKey();
  const spellings = [key, key.slice(2), key.slice(2).toUpperCase()];
  expect(new Set(spellings.map((one) => walletFromKey(one).address))).toEqual(new Set([privateKeyToAddress(key)]));
});

test('what is no key is refused, and is not repeated', () => {
  const beyond = 'f'.repeat(64);
  for (const given of ['', '0x12', 'a'.repeat(65), `${'0'.repeat(64)}`, beyond, ` ${generatePrivateKey()}`]) {
    const thrown = errorOf(() => walletFromKey(given));
    expect(thrown).toBeInstanceOf(TypeError);
    const told = inspect(thrown, { depth: 9, showHidden: true });
    if (given.length > 4) expect(told).not.toContain(given.trim());
    // The message must not contain the key in decimal either.
    expect(told).not.toContain(BigInt(`0x${beyond}`).toString());
  }
});

function errorOf(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}
