import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { makeBundle, makeNotices } from './write-bundle.ts';

const served = (name: string): string =>
  readFileSync(new URL(`../market/pages/shell/files/${name}`, import.meta.url), 'utf8');
const kept = served('wallet-flow.js');

it('the script that is served is made of these very sources, and its licences too (npm run bundle)', async () => {
  const { code: made, modules } = await makeBundle();
  expect(served('third-party-notices.txt')).toBe(makeNotices(modules));
  expect(made.length).toBe(kept.length);
  expect(made === kept).toBe(true);
});

it('it makes no code at run time, names no other host to ask, and stays small', () => {
  expect(kept).not.toMatch(/\beval\(|document\.write|\.innerHTML|insertAdjacentHTML/);
  expect(kept).toContain('jitless');
  expect(gzipSync(kept, { level: 9 }).length).toBeLessThan(98_000);
});
