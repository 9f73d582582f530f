import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemRandom } from '../random.ts';
import { createSecretGuard, makeMerchantKey, makePairingCode, makeRecoveryCode, type SecretGuard } from '../secrets.ts';
import { guardBody, secretInHead } from './guard-request.ts';
import { splitTarget } from './message.ts';

const guard = createSecretGuard(['aisle', 'c1']);
const secrets = [
  makeMerchantKey(systemRandom, 'aisle'),
  makeRecoveryCode(systemRandom, 'c1'),
  makePairingCode(systemRandom, 'c1'),
  makePairingCode(systemRandom, 'c1').toLowerCase(),
];

/** The rule without optimizations: checks every piece, raw and decoded. */
function checkEveryPiece(by: SecretGuard, url: string, rawHeaders: readonly string[]): boolean {
  const { whole, query } = splitTarget(url);
  const decoded = (text: string) =>
    text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  const pieces = [whole, ...query.split(/[&=]/)];
  const json = (text: string): unknown => {
    try {
      return JSON.parse(Buffer.from(text, 'base64').toString('utf8'));
    } catch {
      return null;
    }
  };
  return (
    pieces.some((piece) => by.inText(piece) || by.inText(decoded(piece))) ||
    rawHeaders.some((text, at) => {
      const name = at % 2 === 0 ? '' : (rawHeaders[at - 1] ?? '').toLowerCase();
      if (name === 'authorization') return false;
      return by.inText(text) || (name === 'x-payment' && by.inValue(json(text)));
    })
  );
}

const secret = fc.constantFrom(...secrets);
const base64 = (text: string) => Buffer.from(text).toString('base64');
const percent = (text: string) => [...text].map((at) => `%${at.charCodeAt(0).toString(16)}`).join('');
const escaped = (text: string) =>
  [...text].map((at) => `\\u${at.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
const piece = fc.oneof(
  fc.string({ unit: 'binary-ascii', maxLength: 60 }),
  secret,
  secret.map((text) => `x${text}y`),
  secret.map((text) => text.slice(0, -1)),
  secret.map(base64),
  secret.map((text) => base64(`in the middle ${text} of it`)),
  secret.map((text) => Buffer.from(text).toString('base64url')),
  secret.map(percent),
  secret.map((text) => percent(base64(text))),
  secret.map((text) => base64(`{"a":"${escaped(text)}"}`)),
);
const name = fc.oneof(fc.constantFrom('Authorization', 'X-PAYMENT', 'cookie', 'user-agent'), piece);
const url = fc
  .tuple(piece, fc.array(fc.tuple(piece, fc.constantFrom('=', '&', '?', '/', '')), { maxLength: 4 }))
  .map(([path, rest]) => `/${path}?${rest.flat().join('')}`);

describe('the look at address and headers', () => {
  it('finds what looking at every piece finds, and nothing else', () => {
    let found = 0;
    const headers = fc.array(fc.tuple(name, piece), { maxLength: 3 });
    fc.assert(
      fc.property(url, headers, (address, pairs) => {
        const expected = checkEveryPiece(guard, address, pairs.flat());
        if (expected) found += 1;
        expect(secretInHead(guard, splitTarget(address), pairs.flat())).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
    expect(found).toBeGreaterThan(100);
  });

  it('bears a proof that is nested as deeply as a header allows, and finds what stands at its bottom', () => {
    const look = (json: string): boolean => secretInHead(guard, splitTarget('/'), ['X-PAYMENT', base64(json)]);
    const nested = (open: string, close: string, inside: string): string =>
      open.repeat(5_900) + inside + close.repeat(5_900);
    expect(look(nested('[', ']', ''))).toBe(false);
    expect(look(nested('[', ']', `"${escaped(secrets[0] ?? '')}"`))).toBe(true);
    expect(look(`${'{"a":'.repeat(2_000)}{"${escaped(secrets[0] ?? '')}":1}${'}'.repeat(2_000)}`)).toBe(true);
  });

  it('finds what becomes a secret only after NFC, spelled in UTF-8 as addresses spell it', () => {
    const dressed = encodeURIComponent('c1_pc_\u212a123P-45674-89AB5');
    for (const address of [`/api/${dressed}`, `/api/shelves?q=a&tag=${dressed}`, `/?q=%c3${dressed}`])
      expect([address, secretInHead(guard, splitTarget(address), [])]).toEqual([address, true]);
    const body = Buffer.from('{"a": c1_pc_\u212a123P-45674-89AB5');
    expect(() => guardBody(guard, body, undefined)).toThrow(expect.objectContaining({ reason: 'secret_in_payload' }));
  });
});
