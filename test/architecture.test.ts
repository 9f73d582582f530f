import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { PAYMENT_PATHS } from '../src/market/payments/paths/payment-paths.ts';
import { cycleFaults, directionFaults, marketFaults, type Part, partOf } from './support/source/architecture-rules.ts';
import { COMPUTED, importsOf } from './support/source/imports-of.ts';
import { openSources } from './support/source/open-sources.ts';
import { comparisons, processUses, signingUses, sqlUses, type Use, worldUses } from './support/source/world-uses.ts';

// These rules have no exceptions. If code breaks one, move it, or pass it what it needs.

const root = resolve(import.meta.dirname, '..');
const all = openSources(root);
const shipped = all.filter(({ path }) => partOf(path) !== 'test');
const imports = shipped.flatMap(importsOf);
const manifest = JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8')) as Record<string, object>;

function usesOutside(uses: Use[], allowed: (path: string, part: Part | null) => boolean): string[] {
  return uses
    .filter(({ path }) => !allowed(path, partOf(path)))
    .map(({ path, line, what }) => `${path}:${line} ${what}`);
}

function isAmong(...parts: Part[]): (path: string, part: Part | null) => boolean {
  return (_, part) => part !== null && parts.includes(part);
}

test('the sources are found, tests and shipped files alike', () => {
  expect(shipped.map(({ path }) => path)).toContain('src/market/create-market.ts');
  expect(all.map(({ path }) => path)).toContain('test/architecture.test.ts');
  expect(imports.length).toBeGreaterThan(shipped.length);
});

test('imports between parts go in the allowed directions only', () => {
  expect(directionFaults(imports)).toEqual([]);
});

test('every import can be followed', () => {
  const paths = new Set(all.map(({ path }) => path));
  const lost = imports.filter(({ inside, to }) => to === COMPUTED || (inside && !paths.has(to)));
  expect(lost).toEqual([]);
});

test('inside the market doors rest on operations, operations on features, features on foundations', () => {
  expect(marketFaults(imports)).toEqual([]);
});

test('no file of src imports itself through others, not even for a type', () => {
  expect(cycleFaults(imports)).toEqual([]);
});

test('SQL is in store.ts files and in platform/database only', () => {
  const allowed = (path: string): boolean => /[/-]store\.ts$/.test(path) || path.startsWith('src/platform/database/');
  expect(usesOutside(shipped.flatMap(sqlUses), allowed)).toEqual([]);
});

test('which way a payment is made is asked in the folder of the ways only', () => {
  const ways = new Set(Object.keys(PAYMENT_PATHS));
  const asked = shipped
    .filter(({ path }) => path.startsWith('src/market/'))
    .flatMap((source) => comparisons(source, ways));
  expect(usesOutside(asked, (path) => path.startsWith('src/market/payments/paths/'))).toEqual([]);
  expect(asked).not.toEqual([]);
});

test('finished responses have one cache, and one path stands before the framework', () => {
  const whoImports = (to: string): string[] =>
    [...new Set(imports.filter((one) => one.to === to).map(({ from }) => from))].toSorted();
  expect(whoImports('lru-cache')).toEqual(['src/market/catalog/response-cache.ts']);
  const made = (name: string): string[] =>
    shipped
      .filter(({ path, text }) => path.startsWith('src/') && text.includes(`${name}(`))
      .map(({ path }) => path)
      .toSorted();
  expect(made('createResponseCache')).toEqual([
    'src/market/catalog/answers.ts',
    'src/market/catalog/response-cache.ts',
  ]);
  expect(made('createAnswerFromMemory')).toEqual([
    'src/platform/http/create-http-server.ts',
    'src/platform/http/from-memory.ts',
  ]);
  // These answers bypass the framework: from memory, open streams, requests beyond capacity, and metrics on their own port.
  expect(made('.writeHead')).toEqual([
    'src/platform/http/admission/admit-requests.ts',
    'src/platform/http/from-memory.ts',
    'src/platform/http/send-answer.ts',
    'src/platform/metrics-server.ts',
  ]);
});

test('only facilitator, SDK, the wallet of an agent and the local world hold keys and sign', () => {
  expect(usesOutside(shipped.flatMap(signingUses), isAmong('facilitator', 'sdk', 'agent', 'local'))).toEqual([]);
});

test('clock, chance, timers and the network are taken from the machine in platform, in locks and in the SDK environment only', () => {
  const allowed = (path: string): boolean =>
    path.startsWith('src/platform/') || path.startsWith('src/locks/') || path === 'src/sdk/environment.ts';
  expect(usesOutside(shipped.flatMap(worldUses), allowed)).toEqual([]);
});

test('only platform and the local world start processes', () => {
  expect(usesOutside(shipped.flatMap(processUses), isAmong('platform', 'local'))).toEqual([]);
});

test('the SDK imports viem, zod and the hashes of viem alone, so that it is a small package and runs in browsers', () => {
  const parts = isAmong('sdk', 'contract');
  const taken = imports.filter(({ inside, from }) => !inside && parts(from, partOf(from)));
  expect([...new Set(taken.map(({ to }) => to.replace(/\/.*/, '')))].toSorted()).toEqual(['@noble', 'viem', 'zod']);
});

test('what runs in production needs no development dependency, and every dependency is needed', () => {
  const declared = Object.keys(manifest['dependencies'] ?? {});
  const packages = imports
    .filter(({ inside, to, from }) => !inside && !to.startsWith('node:') && partOf(from) !== 'local')
    .map(({ to, ...rest }) => ({ ...rest, name: /^(?:@[^/]+\/)?[^/]+/.exec(to)?.[0] ?? to }));
  expect(packages.filter(({ name }) => !declared.includes(name))).toEqual([]);
  expect(declared.filter((name) => !packages.some((found) => found.name === name))).toEqual([]);
});
