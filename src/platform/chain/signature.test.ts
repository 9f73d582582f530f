import fc from 'fast-check';
import { expect, test } from 'vitest';
import { testAccount } from '../../local/chain/accounts.ts';
import type { Hex } from '../hex.ts';
import { isCanonicalSignature, recoverSigner } from './signature.ts';

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const digest: Hex = `0x${'5a'.repeat(32)}`;
const wallet = testAccount('signature test');
const signature = await wallet.signer.sign({ hash: digest });

const word = (value: bigint): string => value.toString(16).padStart(64, '0');
const r = BigInt(signature.slice(0, 66));
const s = BigInt(`0x${signature.slice(66, 130)}`);
const v = signature.slice(130);
const made = (parts: { r?: bigint; s?: bigint; v?: string }): Hex =>
  `0x${word(parts.r ?? r)}${word(parts.s ?? s)}${parts.v ?? v}`;

test('a signature of a wallet is canonical and gives its address', async () => {
  expect(made({})).toBe(signature);
  expect(isCanonicalSignature(signature)).toBe(true);
  expect(await recoverSigner(digest, signature)).toBe(wallet.address);
});

test('for another text it gives another address', async () => {
  expect(await recoverSigner(`0x${'5b'.repeat(32)}`, signature)).not.toBe(wallet.address);
});

test('the twin with the high s is refused', async () => {
  const twin = made({ s: ORDER - s, v: v === '1b' ? '1c' : '1b' });
  expect(isCanonicalSignature(twin)).toBe(false);
  expect(await recoverSigner(digest, twin)).toBeNull();
});

test.each([
  ['v 0', made({ v: '00' })],
  ['v 1', made({ v: '01' })],
  ['v 29', made({ v: '1d' })],
  ['r zero', made({ r: 0n })],
  ['s zero', made({ s: 0n })],
  ['r at the order', made({ r: ORDER })],
  ['s just over the half', made({ s: ORDER / 2n + 1n })],
  ['64 bytes, as in the compact form', signature.slice(0, -2)],
  ['66 bytes', `${signature}00`],
  ['upper-case', signature.toUpperCase().replace('0X', '0x')],
  ['no prefix', signature.slice(2)],
  ['nothing', ''],
])('%s is refused', async (_name, text) => {
  expect(isCanonicalSignature(text)).toBe(false);
  expect(await recoverSigner(digest, `0x${text.slice(2)}`)).toBeNull();
});

test('the largest s that is still low is canonical', () => {
  expect(isCanonicalSignature(made({ s: ORDER / 2n }))).toBe(true);
});

test('whatever canonical bytes come, recovery ends in an address of another or in null', async () => {
  const scalar = (limit: bigint) => fc.bigInt({ min: 1n, max: limit });
  const outcomes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(scalar(ORDER - 1n), scalar(ORDER / 2n), fc.constantFrom('1b', '1c'), async (x, y, z) => {
      const signer = await recoverSigner(digest, made({ r: x, s: y, v: z }));
      outcomes.add(signer === null ? 'null' : 'address');
      expect(signer).not.toBe(wallet.address);
    }),
    { numRuns: 60, seed: 11 },
  );
  // About half of all r are no point of the curve.
  expect([...outcomes].sort()).toEqual(['address', 'null']);
});
