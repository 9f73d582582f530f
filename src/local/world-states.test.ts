import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { renderWorldStates } from './write-states.ts';

test('the diagrams are drawn from the tables of today; otherwise: npm run docs', () => {
  const page = resolve(import.meta.dirname, '../../docs/world-states.md');
  expect(readFileSync(page, 'utf8')).toBe(renderWorldStates());
});
