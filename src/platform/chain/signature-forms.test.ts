import { encodeAbiParameters, parseAbiParameters } from 'viem';
import { expect, test } from 'vitest';
import { compacted, highTwin, withShortV } from '../../../test/support/wallets/signature-spellings.ts';
import { testAccount } from '../../local/chain/accounts.ts';
import type { Hex } from '../hex.ts';
import { isCanonicalSignature, recoverSigner } from './signature.ts';
import { canonicalForm, delegateOf, isEnvelope } from './signature-forms.ts';

const DIGEST: Hex = `0x${'5a'.repeat(32)}`;

test('one signature of a key has one form, however its v is written; its high twin has none', async () => {
  for (let at = 0; at < 40; at += 1) {
    const { address, signer } = testAccount(`signs in forms ${at}`);
    const signature = await signer.sign({ hash: DIGEST });
    expect(canonicalForm(signature)).toBe(signature);
    expect(canonicalForm(withShortV(signature))).toBe(signature);
    expect(canonicalForm(compacted(signature))).toBe(signature);
    expect(await recoverSigner(DIGEST, canonicalForm(compacted(signature)))).toBe(address);
    for (const high of [highTwin(signature), withShortV(highTwin(signature))])
      expect(isCanonicalSignature(canonicalForm(high))).toBe(false);
  }
});

test('what is no signature of a key comes back as it is', () => {
  const others: Hex[] = ['0x', '0x00', `0x${'11'.repeat(63)}`, `0x${'11'.repeat(66)}`, `0x${'11'.repeat(64)}02`];
  for (const other of others) expect(canonicalForm(other)).toBe(other);
});

test('an envelope is known by its end', () => {
  const inside = encodeAbiParameters(parseAbiParameters('address, bytes, bytes'), [
    `0x${'1'.repeat(40)}`,
    '0x',
    '0x12',
  ]);
  expect(isEnvelope(`${inside}${'6492'.repeat(16)}`)).toBe(true);
  expect(isEnvelope(inside)).toBe(false);
});

test('the contract to which an account delegates is named, and no other code names one', () => {
  expect(delegateOf(`0xef0100${'ab'.repeat(20)}`)).toBe(`0x${'ab'.repeat(20)}`);
  for (const code of ['0x', '0xef0100', `0xef0100${'ab'.repeat(21)}`, '0x6001'] as const)
    expect(delegateOf(code)).toBe(null);
});
