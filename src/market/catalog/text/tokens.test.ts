import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeTokens, encodeTokens, hasSequence, MOST_BYTES } from './tokens.ts';

const edges = [0, 1, 2, 159, 160, 161, 415, 416, 22_687, 22_688, 22_689, 481_439, 481_440, 16_777_216, 4_294_967_295];
const token = fc.oneof(fc.constantFrom(...edges), fc.nat(400), fc.nat(600_000));
const sequence = fc.array(token, { maxLength: 60 });

function encode(tokens: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(tokens.length * MOST_BYTES);
  return bytes.slice(0, encodeTokens(Uint32Array.from(tokens), tokens.length, bytes));
}

test('what was encoded is decoded, from any place', () => {
  fc.assert(
    fc.property(sequence, sequence, (before, tokens) => {
      const start = encode(before).length;
      const into = new Uint32Array(200);
      const count = decodeTokens(encode([...before, ...tokens, 7]), start, encode(tokens).length, into);
      expect([...into.subarray(0, count)]).toEqual(tokens);
    }),
  );
});

test('a row of tokens is found in the bytes exactly where it is one in the tokens', () => {
  const close = fc.array(fc.constantFrom(2, 3, 160, 161, 162, 416, 22_688, 22_848, 481_440), { maxLength: 40 });
  const row = fc.array(fc.constantFrom(2, 3, 160, 161, 162, 416, 22_688, 22_848, 481_440), {
    minLength: 1,
    maxLength: 3,
  });
  fc.assert(
    fc.property(close, close, row, (before, tokens, wanted) => {
      const isThere = tokens.some((_, at) => wanted.every((one, index) => tokens[at + index] === one));
      const bytes = encode([...before, ...tokens, ...wanted]);
      const found = hasSequence(bytes, encode(before).length, encode(tokens).length, encode(wanted));
      expect(found).toBe(isThere);
    }),
    { numRuns: 1_000 },
  );
});
