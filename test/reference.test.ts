import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { referenceFiles } from '../src/market/pages/write-reference.ts';

const folder = resolve(import.meta.dirname, '../docs/reference');

test('the generated reference is what the contract says today; otherwise: npm run docs', () => {
  const expected = referenceFiles();
  expect(readdirSync(folder).sort()).toEqual([...expected.keys()].sort());
  for (const [name, content] of expected) expect(readFileSync(resolve(folder, name), 'utf8'), name).toBe(content);
});
