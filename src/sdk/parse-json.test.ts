import { describe, expect, it } from 'vitest';
import { parseJson } from './parse-json.ts';

const nested = (open: string, close: string, levels: number): string => open.repeat(levels) + close.repeat(levels);

describe('JSON of a site', () => {
  it('is read as JSON.parse reads it', () => {
    const text = '{"a":[1,"two",null,{"b":true}],"c":{}}';
    expect(parseJson(text)).toEqual(JSON.parse(text));
    expect(parseJson(nested('[', ']', 64))).toEqual(JSON.parse(nested('[', ']', 64)));
  });

  it.each([
    ['65 lists', nested('[', ']', 65)],
    ['200,000 lists', nested('[', ']', 200_000)],
    ['100,000 objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
  ])('is refused with an error of its own where it holds %s, one in the other', (_, text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError);
  });
});
