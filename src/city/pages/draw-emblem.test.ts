import { expect, test } from 'vitest';
import { drawEmblem } from './answer-html.ts';

const many = Array.from({ length: 200 }, (_, at) => drawEmblem({ id: BigInt(at + 1), name: `Thing ${at % 7}` }));

test('one thing has one picture, and things have different ones', () => {
  expect(drawEmblem({ id: 1n, name: 'Thing 0' })).toBe(many[0]);
  expect(drawEmblem({ id: 1n, name: 'Thing 1' })).not.toBe(many[0]);
  expect(new Set(many).size).toBe(many.length);
});

test('a picture is small, and nothing but shapes', () => {
  for (const picture of [...many, drawEmblem({ id: 1n, name: '</svg><script>alert(1)</script>' })]) {
    expect(picture.length).toBeLessThan(4_096);
    expect(picture).not.toMatch(/NaN|undefined|Infinity|href|url\(|style|\bon[a-z]+=/);
    const tags = [...picture.matchAll(/<\/?([a-z]+)/g)].map(([, tag]) => tag);
    expect(new Set(['svg', 'g', 'rect', 'circle', 'ellipse', 'path', ...tags]).size).toBe(6);
    expect(picture.match(/<g[ >]/g)).toHaveLength((picture.match(/<\/g>/g) ?? []).length);
  }
});
