import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { makeBundle } from './make-bundle.ts';

const kept = readFileSync(new URL('../market/pages/shell/files/wallet-flow.js', import.meta.url), 'utf8');

it('the script that is served is made of these very sources (npm run bundle)', async () => {
  const made = await makeBundle();
  expect(made.length).toBe(kept.length);
  expect(made === kept).toBe(true);
});

it('it makes no code at run time, names no other host to ask, and stays small', () => {
  expect(kept).not.toMatch(/\beval\(|document\.write|\.innerHTML|insertAdjacentHTML/);
  expect(kept).toContain('jitless');
  expect(gzipSync(kept, { level: 9 }).length).toBeLessThan(92_000);
});
