import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { NOTICES_PATH, THIRD_PARTY_NOTICES } from '../../src/market/pages/shell/assets.ts';
import { packagesOf } from './read-lock.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const packages = packagesOf(JSON.parse(read('package-lock.json')));
const decision = read('docs/decisions/0002-dependencies.md');

/** Formats packages as `package@version`, for messages. */
function names(of: typeof packages): string[] {
  return of.map(({ name, version }) => `${name}@${version}`);
}

/** Reads a list below a heading of the decision. Each entry is a name with its explanation. */
function entriesBelow(heading: string): [string, string][] {
  const section = decision.slice(decision.indexOf(heading)).split('\n## ')[0] ?? '';
  return [...section.matchAll(/^- `([^`]+)`: `?([^`\n]+)/gm)].map(([, name = '', says = '']) => [name, says]);
}

test('the lock holds a sha512 of every package (npm run lock), so that npm ci takes no other bytes', () => {
  expect(packages.length).toBeGreaterThan(400);
  expect(names(packages.filter(({ integrity }) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? '')))).toEqual([]);
});

test('the lock names no place that packages come from', () => {
  expect(names(packages.filter(({ resolved }) => resolved !== undefined))).toEqual([]);
});

test('the stock seller of the benchmark is locked as the market is, runs no script, and has the same versions of what both use', () => {
  const peers = packagesOf(JSON.parse(read('bench/peers/package-lock.json')));
  const unsafe = peers.filter(
    ({ integrity, resolved, hasInstallScript }) =>
      !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? '') || resolved !== undefined || hasInstallScript,
  );
  expect(names(unsafe)).toEqual([]);
  for (const path of ['node_modules/@x402/core', 'node_modules/@x402/evm', 'node_modules/viem']) {
    const [ours, theirs] = [packages, peers].map((of) => of.find((one) => one.path === path)?.version);
    expect(theirs, path).toBe(ours);
  }
});

test('the decision on dependencies says which packages run a script when they are installed', () => {
  const written = entriesBelow('## Install scripts').map(([name]) => name);
  const running = packages.filter(({ hasInstallScript }) => hasInstallScript).map(({ name }) => name);
  expect(written.sort()).toEqual([...new Set(running)].sort());
});

test('the Node that runs the market is the one that the decision names: its package comes past the lock', () => {
  const written = new Map(entriesBelow('## The Node binary'));
  expect([...written.keys()]).toEqual(['linux-x64', 'linux-arm64']);
  const binary = readFileSync(new URL('../../node_modules/node/bin/node', import.meta.url));
  const digest = createHash('sha256').update(binary).digest('hex');
  // Other platforms have no published binary, but no market runs there.
  const expected = process.platform === 'linux' ? written.get(`linux-${process.arch}`) : digest;
  expect(digest).toBe(expected);
});

test('the wallet script says where the licences are, and they name all whose code is in it', () => {
  const script = read('src/market/pages/shell/files/wallet-flow.js');
  expect(script.split('\n', 1)[0]).toContain(NOTICES_PATH);
  for (const name of ['viem', 'zod', 'marked', '@noble/hashes', '@resvg/resvg-wasm', '@fontsource-variable/inter'])
    expect(THIRD_PARTY_NOTICES).toMatch(new RegExp(`^${name} [0-9]`, 'm'));
  for (const holder of ['weth, LLC', 'Colin McDonnell', 'MarkedJS', 'Paul Miller', 'The Inter Project Authors'])
    expect(THIRD_PARTY_NOTICES).toContain(holder);
});
