import fc from 'fast-check';
import { privateKeyToAccount, sign } from 'viem/accounts';
import { expect, test } from 'vitest';
import { type Hex, toBytes, toHex } from '../platform/hex.ts';
import { makeAccount, signDigest } from './main.ts';

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const SEED = Number(process.env['OPENAISLE_SEED'] ?? Date.now() % 2 ** 31);
const runs = { numRuns: 100, seed: SEED };

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length }).map(toHex);
const keys = fc
  .oneof(fc.bigInt({ min: 1n, max: ORDER - 1n }), fc.constantFrom(1n, ORDER - 1n))
  .map((key): Hex => `0x${key.toString(16).padStart(64, '0')}`);
const units = fc.bigInt({ min: 0n, max: 2n ** 96n });
const calls = {
  chainId: fc.integer({ min: 1, max: 100_000 }),
  nonce: fc.nat(),
  gas: units,
  to: bytes(20),
  value: units,
  data: fc.uint8Array({ maxLength: 300 }).map(toHex),
};

test(`a digest is signed with the very bytes that viem makes (OPENAISLE_SEED=${SEED})`, async () => {
  await fc.assert(
    fc.asyncProperty(keys, fc.oneof(bytes(32), fc.constant<Hex>(`0x${'ff'.repeat(32)}`)), async (key, hash) => {
      expect(signDigest(toBytes(key), hash)).toEqual(await sign({ hash, privateKey: key }));
    }),
    runs,
  );
});

test('so is a transaction, with fees of today or of before', async () => {
  const today = fc.record({ ...calls, maxFeePerGas: units, type: fc.constant('eip1559' as const) });
  const before = fc.record({ ...calls, gasPrice: units, type: fc.constant('legacy' as const) });
  await fc.assert(
    fc.asyncProperty(keys, fc.oneof(today, before), async (key, transaction) => {
      const [ours, theirs] = [makeAccount(key), privateKeyToAccount(key)];
      expect(ours.address).toBe(theirs.address);
      expect(await ours.signTransaction(transaction)).toBe(await theirs.signTransaction(transaction));
    }),
    runs,
  );
});

test('a key out of range makes no account', () => {
  expect(() => makeAccount(`0x${'00'.repeat(32)}`)).toThrow();
  expect(() => makeAccount(`0x${ORDER.toString(16)}`)).toThrow();
});
