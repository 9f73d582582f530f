import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { systemRandom } from './random.ts';
import {
  createSecretGuard,
  isDeliveryToken,
  isDownloadToken,
  isMerchantKey,
  isPairingCode,
  isRecoveryCode,
  makeDownloadToken,
  makeMerchantKey,
  makePairingCode,
  makeRecoveryCode,
  secretPattern,
} from './secrets.ts';

const zeros = { ...systemRandom, bytes: (count: number) => Buffer.alloc(count) };
const ones = { ...systemRandom, bytes: (count: number) => Buffer.alloc(count, 0xff) };

describe('merchant keys', () => {
  it('are the prefix, 43 characters of chance and the CRC32 of all before it', () => {
    const body = `aisle_sk_${'0'.repeat(43)}`;
    const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    let rest = crc32(body);
    let sum = '';
    for (let place = 0; place < 6; place += 1) {
      sum = alphabet.charAt(rest % 62) + sum;
      rest = Math.floor(rest / 62);
    }
    expect(makeMerchantKey(zeros, 'aisle')).toBe(body + sum);
    expect(makeMerchantKey(zeros, 'aisle')).toBe(`${body}2d0wRO`);
  });

  it('have room for all 256 bits', () => {
    expect(makeMerchantKey(ones, 'aisle')).toHaveLength('aisle_sk_'.length + 49);
    expect(makeMerchantKey(ones, 'aisle')[9]).not.toBe('0');
    expect(isMerchantKey(makeMerchantKey(ones, 'aisle'), 'aisle')).toBe(true);
  });

  it('are known by prefix, length, alphabet and checksum', () => {
    const key = makeMerchantKey(systemRandom, 'aisle');
    expect(isMerchantKey(key, 'aisle')).toBe(true);
    expect(key).toMatch(new RegExp(secretPattern('sk', 'aisle')));
    expect(isMerchantKey(key, 'city')).toBe(false);
    expect(isMerchantKey(`${key}0`, 'aisle')).toBe(false);
    expect(isMerchantKey(` ${key}`, 'aisle')).toBe(false);
    expect(isMerchantKey(key.toUpperCase(), 'aisle')).toBe(false);
    expect(isMerchantKey(key.slice(0, -1), 'aisle')).toBe(false);
    for (let at = 9; at < key.length; at += 1) {
      const other = key[at] === 'a' ? 'b' : 'a';
      expect(isMerchantKey(key.slice(0, at) + other + key.slice(at + 1), 'aisle')).toBe(false);
    }
  });
});

describe('download tokens', () => {
  it('have the form of keys, and a kind of their own', () => {
    const token = makeDownloadToken(systemRandom, 'aisle');
    expect(token).toMatch(new RegExp(secretPattern('dl', 'aisle')));
    expect([isDownloadToken(token, 'aisle'), isDownloadToken(token, 'city')]).toEqual([true, false]);
    expect([isMerchantKey(token, 'aisle'), isDeliveryToken(token, 'aisle')]).toEqual([false, false]);
    const guard = createSecretGuard(['aisle']);
    expect(guard.inText(`a ${token} b`)).toBe(true);
    expect([guard.inText(token, 'dl'), guard.inText(token, 'dt')]).toEqual([false, true]);
    expect(guard.maskText(`a ${token} b`)).toBe('a [secret] b');
    expect(guard.inBytes(Buffer.from(`a ${token} b`))).toBe(true);
  });
});

describe('recovery and pairing codes', () => {
  it('check each group by its weighted sum and place', () => {
    expect(makeRecoveryCode(zeros, 'aisle')).toBe('aisle_rc_00001-00002-00003-00004-00005');
    // 31 * (1 + 3 + 5 + 7) + g modulo 32
    expect(makeRecoveryCode(ones, 'aisle')).toBe('aisle_rc_ZZZZH-ZZZZJ-ZZZZK-ZZZZM-ZZZZN');
    expect(makePairingCode(zeros, 'city')).toBe('city_pc_00001-00002-00003');
  });

  it('are read in any case', () => {
    const code = makeRecoveryCode(systemRandom, 'aisle');
    expect(isRecoveryCode(code, 'aisle')).toBe(true);
    expect(isRecoveryCode(code.toLowerCase(), 'aisle')).toBe(true);
    expect(isRecoveryCode(code.toUpperCase(), 'aisle')).toBe(true);
    expect(code).toMatch(new RegExp(secretPattern('rc', 'aisle')));
  });

  it('are not known with a wrong letter, two groups exchanged, or as the other kind', () => {
    const code = 'aisle_rc_00001-00002-00003-00004-00005';
    expect(isRecoveryCode('aisle_rc_00002-00002-00003-00004-00005', 'aisle')).toBe(false);
    expect(isRecoveryCode('aisle_rc_00002-00001-00003-00004-00005', 'aisle')).toBe(false);
    expect(isRecoveryCode('aisle_rc_0000U-00002-00003-00004-00005', 'aisle')).toBe(false);
    expect(isRecoveryCode(code.replaceAll('-', ''), 'aisle')).toBe(false);
    expect(isPairingCode(code, 'aisle')).toBe(false);
    expect(isPairingCode('aisle_pc_00001-00002-00003', 'aisle')).toBe(true);
    expect(isRecoveryCode('aisle_pc_00001-00002-00003', 'aisle')).toBe(false);
  });

  it('take every letter of the alphabet from chance', () => {
    const seen = new Set<string>();
    for (let round = 0; round < 100; round += 1)
      for (const letter of makeRecoveryCode(systemRandom, 'aisle').slice(9)) seen.add(letter);
    expect([...seen].sort().join('')).toBe('-0123456789ABCDEFGHJKMNPQRSTVWXYZ');
  });
});
