import { expect, it } from 'vitest';
import { fromBase64, toBase64 } from './base64.ts';

it('writes and reads bytes as Buffer does', () => {
  for (let length = 0; length < 70; length += 1) {
    const bytes = Uint8Array.from({ length }, (_, at) => (at * 97 + length) % 256);
    const text = Buffer.from(bytes).toString('base64');
    expect(toBase64(bytes)).toBe(text);
    expect(fromBase64(text)).toEqual(bytes);
  }
});

it.each(['_-8', '+/8=', 'aGV\nsbG8', 'aGVsbG8', 'YQ', 'YQ=', 'A', '', '%%aGk%'])('reads %j as Buffer does', (text) => {
  expect([...fromBase64(text)]).toEqual([...Buffer.from(text, 'base64')]);
});
