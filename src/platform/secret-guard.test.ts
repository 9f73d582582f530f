import { describe, expect, it } from 'vitest';
import { processorMs } from '../../test/support/processor-time.ts';
import { systemRandom } from './random.ts';
import { createSecretGuard, makeMerchantKey, makePairingCode, makeRecoveryCode } from './secrets.ts';

const guard = createSecretGuard(['aisle', 'city']);
const key = makeMerchantKey(systemRandom, 'aisle');
const secrets = [
  key,
  makeMerchantKey(systemRandom, 'city'),
  makeRecoveryCode(systemRandom, 'aisle'),
  makeRecoveryCode(systemRandom, 'city').toLowerCase(),
  makePairingCode(systemRandom, 'aisle').toUpperCase(),
];

describe('the secret guard', () => {
  it.each(secrets)('finds a secret anywhere in a text', (secret) => {
    for (const text of [
      secret,
      `x${secret}`,
      `${secret}yz0`,
      `https://a.b/?k=${secret}&l=1`,
      `aisle_sk_${secret}`,
      `${'a'.repeat(100_000)}${secret}`,
    ]) {
      expect(guard.inText(text)).toBe(true);
    }
  });

  it.each(secrets)('finds a secret in base64 of any dialect', (secret) => {
    const bytes = Buffer.concat([Buffer.from([0, 1, 255]), Buffer.from(secret), Buffer.from([250])]);
    const plain = bytes.toString('base64');
    for (const text of [
      plain,
      bytes.toString('base64url'),
      plain.replaceAll(/.{60}/g, '$&\r\n'),
      plain.replace(/=+$/, ''),
    ]) {
      expect(guard.inText(text)).toBe(true);
    }
  });

  it('finds a secret in names and values at any depth, but not in its own place at the top', () => {
    expect(guard.inValue({ a: [{ b: { c: `my ${key}` } }] })).toBe(true);
    expect(guard.inValue({ a: { [key]: 1 } })).toBe(true);
    expect(guard.inValue({ merchant_key: key }, ['merchant_key'])).toBe(false);
    expect(guard.inValue({ merchant_key: key, note: key }, ['merchant_key'])).toBe(true);
    expect(guard.inValue({ inner: { merchant_key: key } }, ['merchant_key'])).toBe(true);
    expect(guard.inValue({ merchant_key: [key] }, ['merchant_key'])).toBe(true);
    expect(guard.inValue({ merchant_key: makeRecoveryCode(systemRandom, 'aisle') }, ['merchant_key'])).toBe(true);
    expect(guard.inValue({ recovery_code: key }, ['recovery_code'])).toBe(true);
    expect(guard.inValue({ recovery_code: makeRecoveryCode(systemRandom, 'aisle') }, ['recovery_code'])).toBe(false);
    expect(guard.inValue({ a: 1, b: null, c: true, d: [] })).toBe(false);
  });

  it('leaves alone what only looks like one', () => {
    for (const text of [
      `aisle_sk_${'a'.repeat(49)}`,
      'aisle_rc_',
      'aisle_rc_AAAAA-AAAAA-AAAAA-AAAAA-AAAAA',
      key.slice(0, -1),
      makeMerchantKey(systemRandom, 'other'),
    ]) {
      expect(guard.inText(text)).toBe(false);
    }
  });

  it('is as fast on the worst text as its length allows', () => {
    const readWorst = (): void => {
      for (const worst of ['aisle_sk_', 'aisle_rc_AAAAA-', 'aisle_', 'A'])
        guard.inText(worst.repeat(1_000_000 / worst.length));
      guard.inText(`${'A'.repeat(1_000_000)}!`);
      guard.inText(`${'='.repeat(1_000_000)}`);
      // Line ends may stand among digits of base64 and behind its padding.
      guard.inText(`${'\n'.repeat(1_000_000)}!`);
      guard.inText(`A=${'\r\n'.repeat(500_000)}!`);
    };
    expect(processorMs(readWorst)).toBeLessThan(2_000);
  });

  it('knows its own prefixes alone', () => {
    expect(createSecretGuard(['aisle']).inText(`a ${key}`)).toBe(true);
    expect(createSecretGuard(['city']).inText(`a ${key}`)).toBe(false);
    expect(() => createSecretGuard(['no_underscore'])).toThrow('a secret prefix');
  });
});
