import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { listFiles } from '../support/source/open-sources.ts';

// All statements about the network come from one value, and all about the fee from another. `npm run recipes` carries out both recipes.

const NETWORKS = 'src/contract/networks.ts';
const FORBIDDEN: readonly [RegExp, readonly string[]][] = [
  [/\bBase\b|(['"`])base\1|[Ss]epolia|\b84532?n?\b|basescan|0x833589fc|0x036cbd53/, [NETWORKS]],
  // `0.000001 USDC` is the unit, so this pattern excludes it.
  [/(?<![\d.])1(?:\.0+)? USDC\b/, []],
];
/** Matches comments, which may give examples because they do not affect behavior, and `class="base"`, which is a line of a chart. */
const EXAMPLE = /^\s*(?:\/\*|\*|\/\/)|class="base"/;

const root = resolve(import.meta.dirname, '../..');
const sources = listFiles(root)
  .filter((path) => path.startsWith('src/') && path.endsWith('.ts') && !path.endsWith('.test.ts'))
  .map((path) => ({ path, text: readFileSync(resolve(root, path), 'utf8') }));

function linesWith(pattern: RegExp): { path: string; line: string }[] {
  return sources.flatMap(({ path, text }) =>
    text
      .split('\n')
      .filter((line) => pattern.test(line) && !EXAMPLE.test(line))
      .map((line) => ({ path, line: line.trim() })),
  );
}

test.each(FORBIDDEN)('%s stands in no other file of the sources', (pattern, allowed) => {
  const found = linesWith(pattern);
  expect(found.filter(({ path }) => !allowed.includes(path))).toEqual([]);
  expect(allowed.filter((path) => !found.some((one) => one.path === path))).toEqual([]);
});

test('both would be found', () => {
  const [[network] = [/-/], [fee] = [/-/]] = FORBIDDEN;
  for (const line of ["name: 'base',", 'on Base.', 'chain 8453', '8453n', 'Base Sepolia'])
    expect(line).toMatch(network);
  for (const line of ['costs 1 USDC to', 'of 1.00 USDC']) expect(line).toMatch(fee);
  for (const line of ['0.000001 USDC', '11 USDC']) expect(line).not.toMatch(fee);
});
