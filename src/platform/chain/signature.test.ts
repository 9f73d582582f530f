import fc from 'fast-check';
import { privateKeyToAccount } from 'viem/accounts';
import { recoverAddress } from 'viem/utils';
import { describe, expect, test } from 'vitest';
import { testAccount } from '../../local/chain/accounts.ts';
import { type Hex, toHex } from '../hex.ts';
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
  // About half of all values of r are not on the curve.
  expect([...outcomes].sort()).toEqual(['address', 'null']);
});

const SEED = Number(process.env['OPENAISLE_SEED'] ?? Date.now() % 2 ** 31);

describe(`it says what viem says (OPENAISLE_SEED=${SEED})`, () => {
  const runs = { numRuns: 150, seed: SEED };
  const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(toHex);
  /** Includes digests larger than the curve order, which are reduced. */
  const digests = fc.oneof(bytes, fc.constantFrom<Hex>(`0x${'00'.repeat(32)}`, `0x${'ff'.repeat(32)}`));
  const keys = fc.oneof(fc.bigInt({ min: 1n, max: ORDER - 1n }), fc.constantFrom(1n, 2n, ORDER - 1n));

  /** Returns null where viem finds no key, like `recoverSigner`. */
  async function byViem(of: Hex, made: Hex): Promise<Hex | null> {
    const address = await recoverAddress({ hash: of, signature: made }).catch(() => null);
    return address === null ? null : (address.toLowerCase() as Hex);
  }

  test('of what any key signed, and neither takes the twin', async () => {
    await fc.assert(
      fc.asyncProperty(keys, digests, async (key, of) => {
        const account = privateKeyToAccount(`0x${word(key)}`);
        const signed = await account.sign({ hash: of });
        expect(await recoverSigner(of, signed)).toBe(account.address.toLowerCase());
        expect(await byViem(of, signed)).toBe(account.address.toLowerCase());
        const high = word(ORDER - BigInt(`0x${signed.slice(66, 130)}`));
        const twin: Hex = `${signed.slice(0, 66) as Hex}${high}${signed.endsWith('1b') ? '1c' : '1b'}`;
        expect(await recoverSigner(of, twin)).toBeNull();
      }),
      runs,
    );
  });

  test('of any canonical bytes, whether r is on the curve or not', async () => {
    const seen = new Set<boolean>();
    const low = fc.bigInt({ min: 1n, max: ORDER / 2n });
    const sides = fc.constantFrom('1b', '1c');
    await fc.assert(
      fc.asyncProperty(keys, low, sides, digests, async (x, y, z, of) => {
        const one = made({ r: x, s: y, v: z });
        const signer = await recoverSigner(of, one);
        seen.add(signer !== null);
        expect(signer).toBe(await byViem(of, one));
      }),
      runs,
    );
    expect(seen.size).toBe(2);
  });

  test('of zero, and of a signature whose key would be the point at infinity', async () => {
    // r is the x coordinate of the generator, so R = G. With s equal to the digest, s * R and digest * G cancel out.
    const generator = 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n;
    const five: Hex = `0x${word(5n)}`;
    for (const [of, one] of [
      [five, made({ r: generator, s: 5n, v: '1b' })],
      [five, made({ r: 0n })],
      [five, made({ s: 0n })],
      [five, made({ r: 5n })],
    ] as const) {
      expect(await recoverSigner(of, one)).toBeNull();
      expect(await byViem(of, one)).toBeNull();
    }
    expect(await recoverSigner(five, made({ r: generator, s: 5n, v: '1c' }))).not.toBeNull();
  });
});
