import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dressedSecret } from '../../test/support/dressed-secrets.ts';
import { processorMs } from '../../test/support/processor-time.ts';
import { systemRandom } from './random.ts';
import {
  createSecretGuard,
  makeDeliveryToken,
  makeMerchantKey,
  makePairingCode,
  makeRecoveryCode,
  SECRET_MASK,
} from './secrets.ts';

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
      ...[' ', '\t', '\n    ', '\r\n\t', '\u00a0'].map((blank) => plain.replaceAll(/.{8}/g, `$&${blank}`)),
      `  ${plain.replaceAll(/./g, '$& ')}\n`,
    ]) {
      expect(guard.inText(text)).toBe(true);
      expect(guard.maskText(text)).toBe(SECRET_MASK);
    }
  });

  it.each(secrets)('leaves no part of a text that holds a secret, and is base64 of another as a whole', (secret) => {
    for (const filler of ['', 'A', 'AA', 'AAA']) {
      const text = `${key}${filler}${Buffer.from(secret).toString('base64url')}`;
      const masked = guard.maskText(text);
      const isEncoded = (key.length + filler.length) % 4 === 0;
      expect([filler, masked === SECRET_MASK]).toEqual([filler, isEncoded]);
    }
  });

  it('judges a text of nothing but blanks and base64 in time linear in it', () => {
    const ms = (length: number): number => {
      const texts = ['A ', 'A\n', ' ', '=\t', 'A= ', '\u00a0A_'].map((piece) => piece.repeat(length / piece.length));
      return processorMs(() => {
        for (const text of texts) guard.maskText(text);
      });
    };
    ms(1_000);
    expect(ms(1_000_000)).toBeLessThan(1_000);
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
      // Line ends may occur among base64 digits and after the padding.
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

/** The checksum is valid, but the code was never issued. */
const CODE = 'aisle_pc_K123P-45674-89AB5';
const DRESSED = CODE.replace('K', '\u212a');

/** Makes secrets until one contains the letter k. */
function withK(make: () => string): string {
  for (;;) {
    const text = make();
    if (text.includes('K')) return text;
  }
}

describe('a text that is a secret only after NFC', () => {
  it('is one before, too', () => {
    expect(DRESSED.normalize('NFC')).toBe(CODE);
    const book = createSecretGuard(['book']);
    const made = [makeMerchantKey, makeDeliveryToken, makeRecoveryCode, makePairingCode].map((make) =>
      withK(() => make(systemRandom, 'book')),
    );
    for (const text of [...made, makePairingCode(systemRandom, 'book').toUpperCase()]) {
      for (const dressed of [text.replaceAll('K', '\u212a'), text.replace('K', '\u212a')]) {
        expect([dressed, book.inText(`é ${dressed}\u0301.`)]).toEqual([dressed, true]);
      }
    }
    const encoded = Buffer.from(`(${CODE}`).toString('base64');
    expect(encoded.includes('K')).toBe(true);
    expect(guard.inText(encoded.replaceAll('K', '\u212a'))).toBe(true);
  });

  it('is made by one character alone, of all that there are', () => {
    const alphabet = /[A-Za-z0-9_+/=-]/;
    const found: string[] = [];
    for (let point = 0x80; point <= 0x10ffff; point += 1) {
      if (point >= 0xd800 && point <= 0xdfff) continue;
      if (alphabet.test(String.fromCodePoint(point).normalize('NFC'))) found.push(point.toString(16));
    }
    expect(found).toEqual(['212a']);
  });

  it('is found in whatever stands around it', () => {
    let secret = 0;
    fc.assert(
      fc.property(dressedSecret(['aisle', 'city']), (text) => {
        if (guard.inText(text.normalize('NFC'))) {
          secret += 1;
          expect(guard.inText(text)).toBe(true);
        }
      }),
      { numRuns: 1_000 },
    );
    expect(secret).toBeGreaterThan(100);
  });

  it('is found as base64 with blanks around it, which forms leave out', () => {
    const encoded = Buffer.from(CODE).toString('base64');
    for (const text of [` ${encoded}`, `${encoded}\t\n `, `\u00a0${encoded}`]) expect(guard.inText(text)).toBe(true);
  });
});

describe('a masked text', () => {
  const token = makeDeliveryToken(systemRandom, 'aisle');

  it('has the mark in place of each secret and is the same around it', () => {
    expect(guard.maskText('nothing to hide')).toBe('nothing to hide');
    expect(guard.maskText(`a ${CODE} b`)).toBe(`a ${SECRET_MASK} b`);
    expect(guard.maskText(`a ${DRESSED} b`)).toBe(`a ${SECRET_MASK} b`);
    expect(guard.maskText(`${CODE}${key}, ${token}é`)).toBe(`${SECRET_MASK}${SECRET_MASK}, ${SECRET_MASK}é`);
  });

  it('has one mark for secrets that overlap', () => {
    expect(createSecretGuard(['isle', 'aisle']).maskText(`a ${CODE} b`)).toBe(`a ${SECRET_MASK} b`);
  });

  it('is the mark alone where it was base64 of a secret', () => {
    expect(guard.maskText(Buffer.from(`my ${key}`).toString('base64'))).toBe(SECRET_MASK);
  });

  it('holds no secret, whatever it held', () => {
    fc.assert(
      fc.property(fc.array(dressedSecret(['aisle', 'city']), { maxLength: 4 }), (texts) => {
        const masked = guard.maskText(texts.join(''));
        expect([guard.inText(masked), guard.inText(masked.normalize('NFC'))]).toEqual([false, false]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('stands in a value of any depth, names among them, but not in members that are kept', () => {
    const value = { a: [{ b: `my ${CODE}`, artifact: CODE }], [CODE]: 1, artifact: { c: CODE }, n: null, t: true };
    expect(guard.maskValue(value, ['artifact'])).toEqual({
      a: [{ b: `my ${SECRET_MASK}`, artifact: CODE }],
      [SECRET_MASK]: 1,
      artifact: { c: SECRET_MASK },
      n: null,
      t: true,
    });
  });

  it('is made as fast from the worst text as its length allows', () => {
    const worst = Array.from({ length: 20_000 }, () => CODE).join(' ');
    expect(processorMs(() => guard.maskText(worst))).toBeLessThan(2_000);
  });
});

describe('bytes of a file', () => {
  const code = makeRecoveryCode(systemRandom, 'city');

  it('are searched for whole secrets, in each spelling in which people type a code', () => {
    const capitalized = code.charAt(0).toUpperCase() + code.slice(1);
    for (const secret of [key, code, code.toLowerCase(), code.toUpperCase(), capitalized])
      for (const before of ['', 'x', 'aisle_', 'aisle_sk_', '\u00ff\u0000'])
        expect(guard.inBytes(Buffer.from(`${before}${secret}\u00ff`, 'latin1'))).toBe(true);
    const broken = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;
    for (const text of ['', broken, key.slice(0, -1), key.toUpperCase(), Buffer.from(key).toString('base64')])
      expect(guard.inBytes(Buffer.from(text))).toBe(false);
  });

  it('are judged like text, wherever a secret lies and whatever surrounds it', () => {
    for (let round = 0; round < 200; round += 1) {
      const bytes = systemRandom.bytes(400);
      const at = systemRandom.int(300);
      if (round % 2 === 0) Buffer.from(round % 4 === 0 ? key : code).copy(bytes, at);
      expect(guard.inBytes(bytes)).toBe(round % 2 === 0);
    }
    expect(Math.max(key.length, code.length)).toBeLessThanOrEqual(guard.longest);
  });
});
