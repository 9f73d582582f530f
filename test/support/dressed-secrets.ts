import fc from 'fast-check';
import { systemRandom } from '../../src/platform/random.ts';
import { makeDeliveryToken, makeMerchantKey, makePairingCode, makeRecoveryCode } from '../../src/platform/secrets.ts';

/** KELVIN SIGN, which NFC turns into K. */
export const KELVIN = '\u212a';

/** Returns a valid pairing code with a K in its first group, which was never issued. */
export const pairingCodeOf = (prefix: string): string => `${prefix}_pc_K123P-45674-89AB5`;

/** Returns secrets of all kinds with these prefixes, plain and in base64, and codes also in upper and lower case. */
function secretsOf(prefixes: readonly string[]): string[] {
  return prefixes.flatMap((prefix) => {
    const codes = Array.from({ length: 3 }, () => [
      makeRecoveryCode(systemRandom, prefix),
      makePairingCode(systemRandom, prefix),
    ]).flat();
    const words = [makeMerchantKey(systemRandom, prefix), makeDeliveryToken(systemRandom, prefix)];
    return [...words, ...codes, ...codes.map((code) => code.toLowerCase()), ...codes.map((code) => code.toUpperCase())]
      .concat(pairingCodeOf(prefix))
      .flatMap((secret) => [
        secret,
        Buffer.from(secret).toString('base64'),
        Buffer.from(`(${secret}`).toString('base64'),
      ]);
  });
}

/** Maps the NFC form of each character to all characters that NFC changes into it. */
function equivalents(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (let point = 0x80; point <= 0x10ffff; point += 1) {
    if (point >= 0xd800 && point <= 0xdfff) continue;
    const text = String.fromCodePoint(point);
    const canonical = text.normalize('NFC');
    if (canonical !== text) found.set(canonical, [...(found.get(canonical) ?? []), text]);
  }
  return found;
}

/**
 * Generates texts with hidden secrets, some visible only in canonical form: letters replaced by equivalents, combining marks between or
 * after them, other text around.
 */
export function dressedSecret(prefixes: readonly string[]): fc.Arbitrary<string> {
  const canonical = equivalents();
  const marks = ['', '', '', '', '\u0301', '\u0323\u0301', '\u0301\u0323', 'é', '\u1e0b\u0323'];
  const around = fc.oneof(
    fc.constantFrom('', '', ' ', 'é', '\u0301', '_', 'a', 'K', KELVIN),
    fc.string({ unit: 'binary', maxLength: 8 }),
  );
  return fc
    .tuple(around, fc.constantFrom(...secretsOf(prefixes)), around, fc.infiniteStream(fc.nat({ max: 9 })))
    .chain(([before, secret, behind, draws]) =>
      fc.constantFrom(...marks).map((mark) => {
        const dressed = [...secret].map((letter) => {
          const others = canonical.get(letter);
          const draw = Number(draws.next().value);
          return others === undefined || draw < 3 ? letter : (others[draw % others.length] ?? letter);
        });
        return `${before}${dressed.join('')}${mark}${behind}`;
      }),
    );
}
